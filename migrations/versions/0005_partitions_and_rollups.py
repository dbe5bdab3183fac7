"""Trials in a partition per month; what heatmaps need of them in one row per cell and arm."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"

MAKE_PARTITION = """
CREATE FUNCTION make_trial_partition(moment timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    first_day timestamp := date_trunc('month', moment AT TIME ZONE 'UTC');
    begins timestamptz := first_day AT TIME ZONE 'UTC';
    ends timestamptz := (first_day + interval '1 month') AT TIME ZONE 'UTC';
    name text := 'trials_' || to_char(first_day, 'YYYY_MM');
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('lastbyte partitions', 0));
    IF to_regclass(name) IS NOT NULL THEN
        RETURN false;
    END IF;
    -- before anything is written: of two locks, the one that others hold longest is waited for with nothing in hand
    LOCK TABLE trials IN SHARE UPDATE EXCLUSIVE MODE;
    LOCK TABLE trials_stray IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE %I (LIKE trials INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name);
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY (id, stored_at)', name, 'pk_' || name);
    EXECUTE format('CREATE UNIQUE INDEX %I ON %I (cell_id, round_index, client_id)', 'uq_' || name, name);
    PERFORM set_config('lastbyte.moving_trials', 'on', true);
    EXECUTE format(
        'WITH moved AS (DELETE FROM trials_stray WHERE stored_at >= $1 AND stored_at < $2 RETURNING *)'
        ' INSERT INTO %I SELECT * FROM moved', name) USING begins, ends;
    PERFORM set_config('lastbyte.moving_trials', '', true);
    EXECUTE format('ALTER TABLE trials ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, begins, ends);
    RETURN true;
END
$$
"""
"""A partition for the month (UTC) of a moment, with the rows that strayed into the default one; false: it is there."""

DROP_PARTITIONS = """
CREATE FUNCTION drop_trial_partitions(before timestamptz) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('lastbyte partitions', 0));
    FOR name IN
        SELECT relid::text FROM pg_partition_tree('trials')
         WHERE isleaf AND relid::text ~ '^trials_[0-9]{4}_[0-9]{2}$'
           AND (to_date(right(relid::text, 7), 'YYYY_MM') + interval '1 month') AT TIME ZONE 'UTC' <= before
      ORDER BY 1
    LOOP
        EXECUTE format('DELETE FROM artifacts USING %I AS trial WHERE artifacts.trial_id = trial.id', name);
        EXECUTE format('DROP TABLE %I', name);
        RETURN NEXT name;
    END LOOP;
    DELETE FROM trials_stray WHERE stored_at < before;
END
$$
"""
"""Drop the partitions that ended before a moment, with their artifacts' rows; gives their names."""

DROP_ARTIFACTS = """
CREATE FUNCTION drop_artifacts_of_trial() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM artifacts WHERE trial_id = old.id;
    RETURN NULL;
END
$$
"""
"""In place of a foreign key, which a partitioned table can't offer on ``id`` alone."""

ROLL_UP = """
INSERT INTO cell_rollups (
    cell_id, client_id, rounds, kinds, ttlb_s, handshake_s, ttfb_s, elapsed_s, body_bytes, unproven)
SELECT cell_id, client_id, array_agg(round_index ORDER BY round_index), array_agg(outcome ORDER BY round_index),
       array_agg(ttlb_s ORDER BY round_index), array_agg(handshake_s ORDER BY round_index),
       array_agg(ttfb_s ORDER BY round_index), array_agg(elapsed_s ORDER BY round_index),
       array_agg(body_bytes ORDER BY round_index), array_agg(coalesce(unproven_reason, '') ORDER BY round_index)
  FROM trials
 GROUP BY cell_id, client_id
"""


def upgrade() -> None:
    """Apply. Copies the trials once, at some 50,000 a second; the space of the old table is free again afterwards."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("cells", sa.Column("version", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.drop_constraint(op.f("fk_artifacts_trial_id_trials"), "artifacts")
    op.drop_constraint(op.f("pk_trials"), "trials")
    op.drop_constraint(op.f("uq_trials_cell_id_round_index_client_id"), "trials")
    op.drop_index(op.f("ix_trials_campaign_id_id"), table_name="trials")
    op.rename_table("trials", "trials_unpartitioned")
    op.execute("ALTER SEQUENCE trials_id_seq RENAME TO trials_unpartitioned_id_seq")
    op.execute(
        "CREATE TABLE trials (LIKE trials_unpartitioned INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY"
        " INCLUDING STORAGE) PARTITION BY RANGE (stored_at)"
    )
    op.execute("CREATE TABLE trials_stray PARTITION OF trials DEFAULT")
    op.execute("ALTER TABLE trials_stray ADD CONSTRAINT pk_trials_stray PRIMARY KEY (id, stored_at)")
    op.execute("CREATE UNIQUE INDEX uq_trials_stray ON trials_stray (cell_id, round_index, client_id)")
    for statement in (MAKE_PARTITION, DROP_PARTITIONS, DROP_ARTIFACTS):
        op.execute(statement)
    op.execute(
        "SELECT make_trial_partition(month AT TIME ZONE 'UTC') FROM generate_series("
        " date_trunc('month', coalesce((SELECT min(stored_at) FROM trials_unpartitioned), now()) AT TIME ZONE 'UTC'),"
        " date_trunc('month', now() AT TIME ZONE 'UTC') + interval '3 months', interval '1 month') AS month"
    )
    op.execute("INSERT INTO trials OVERRIDING SYSTEM VALUE SELECT * FROM trials_unpartitioned")
    op.execute(
        "SELECT setval(pg_get_serial_sequence('trials', 'id'), last_value, is_called) FROM trials_unpartitioned_id_seq"
    )
    op.drop_table("trials_unpartitioned")
    op.create_primary_key(op.f("pk_trials"), "trials", ["id", "stored_at"])
    for column, table in (("campaign_id", "campaigns"), ("cell_id", "cells")):
        name = op.f(f"fk_trials_{column}_{table}")
        op.create_foreign_key(name, "trials", table, [column], ["id"], ondelete="CASCADE")
    name = op.f("fk_trials_client_build_id_client_builds")
    op.create_foreign_key(name, "trials", "client_builds", ["client_build_id"], ["id"])
    op.create_index(op.f("ix_trials_campaign_id_id"), "trials", ["campaign_id", "id"])
    op.execute(
        "CREATE TRIGGER trials_drop_artifacts AFTER DELETE ON trials FOR EACH ROW"
        " WHEN (current_setting('lastbyte.moving_trials', true) IS DISTINCT FROM 'on')"
        " EXECUTE FUNCTION drop_artifacts_of_trial()"
    )
    numbers, texts = postgresql.ARRAY(sa.Float(precision=53)), postgresql.ARRAY(sa.Text())
    op.create_table(
        "cell_rollups",
        sa.Column("cell_id", sa.BigInteger(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("rounds", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("kinds", texts, nullable=False),
        *(sa.Column(name, numbers, nullable=False) for name in ("ttlb_s", "handshake_s", "ttfb_s", "elapsed_s")),
        sa.Column("body_bytes", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("unproven", texts, nullable=False),
        sa.ForeignKeyConstraint(
            ["cell_id"], ["cells.id"], name=op.f("fk_cell_rollups_cell_id_cells"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("cell_id", "client_id", name=op.f("pk_cell_rollups")),
    )
    op.execute("ALTER TABLE cell_rollups SET (fillfactor = 60)")  # room to grow within its page
    op.execute(ROLL_UP)


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("cell_rollups")
    op.drop_column("cells", "version")
    op.execute("DROP TRIGGER trials_drop_artifacts ON trials")
    for function in ("make_trial_partition", "drop_trial_partitions", "drop_artifacts_of_trial"):
        op.execute(f"DROP FUNCTION {function}")
    op.rename_table("trials", "trials_partitioned")
    op.execute("ALTER SEQUENCE trials_id_seq RENAME TO trials_partitioned_id_seq")
    op.execute(
        "CREATE TABLE trials (LIKE trials_partitioned INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY"
        " INCLUDING STORAGE)"
    )
    op.execute("INSERT INTO trials OVERRIDING SYSTEM VALUE SELECT * FROM trials_partitioned")
    op.execute(
        "SELECT setval(pg_get_serial_sequence('trials', 'id'), last_value, is_called) FROM trials_partitioned_id_seq"
    )
    op.drop_table("trials_partitioned")
    op.create_primary_key(op.f("pk_trials"), "trials", ["id"])
    op.create_unique_constraint(
        op.f("uq_trials_cell_id_round_index_client_id"), "trials", ["cell_id", "round_index", "client_id"]
    )
    for column, table in (("campaign_id", "campaigns"), ("cell_id", "cells")):
        name = op.f(f"fk_trials_{column}_{table}")
        op.create_foreign_key(name, "trials", table, [column], ["id"], ondelete="CASCADE")
    name = op.f("fk_trials_client_build_id_client_builds")
    op.create_foreign_key(name, "trials", "client_builds", ["client_build_id"], ["id"])
    op.create_index(op.f("ix_trials_campaign_id_id"), "trials", ["campaign_id", "id"])
    name = op.f("fk_artifacts_trial_id_trials")
    op.create_foreign_key(name, "artifacts", "trials", ["trial_id"], ["id"], ondelete="CASCADE")

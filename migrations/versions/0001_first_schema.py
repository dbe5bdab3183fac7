"""First schema: catalogue, vantages, campaigns, cells, trials, artifacts, schedules."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'queued'"), nullable=False),
        sa.Column("endpoint_ids", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("profile_names", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("vantage", sa.Text(), nullable=False),
        sa.Column("timeout_s", sa.Float(precision=53), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('queued', 'running', 'done', 'cancelled')", name=op.f("ck_campaigns_state")),
        sa.CheckConstraint("rounds >= 1", name=op.f("ck_campaigns_rounds")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
    )
    op.create_index(op.f("ix_campaigns_created_at_id"), "campaigns", ["created_at", "id"], unique=False)
    op.create_table(
        "client_builds",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("program", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("version_text", sa.Text(), nullable=False),
        sa.Column("version_sha256", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_client_builds")),
        sa.UniqueConstraint(
            "program", "sha256", "version_sha256", name=op.f("uq_client_builds_program_sha256_version_sha256")
        ),
    )
    op.create_table(
        "clients",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("program", sa.Text(), nullable=False),
        sa.Column("protocol", sa.Text(), nullable=False),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clients")),
    )
    op.create_table(
        "endpoints",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("size_label", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("expected_bytes", sa.BigInteger(), nullable=True),
        sa.Column("base_rtt_ms", sa.Float(precision=53), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoints")),
    )
    op.create_table(
        "profiles",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_profiles")),
    )
    op.create_table(
        "schedules",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=False),
        sa.Column("template", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("last_run_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
        sa.UniqueConstraint("name", name=op.f("uq_schedules_name")),
    )
    op.create_table(
        "vantages",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("box_kind", sa.Text(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.Column("kernel", sa.Text(), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("capabilities", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_vantages")),
    )
    op.create_table(
        "campaign_arms",
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("client", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_campaign_arms_campaign_id_campaigns"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["client_id"], ["clients.id"], name=op.f("fk_campaign_arms_client_id_clients")),
        sa.PrimaryKeyConstraint("campaign_id", "client_id", name=op.f("pk_campaign_arms")),
    )
    op.create_table(
        "cells",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("endpoint_id", sa.Text(), nullable=False),
        sa.Column("profile_name", sa.Text(), nullable=False),
        sa.Column("vantage", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("endpoint", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("profile", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("trials_planned", sa.Integer(), nullable=False),
        sa.Column("trials_done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("trials_failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("busy_s", sa.Float(precision=53), server_default=sa.text("0"), nullable=False),
        sa.Column("progress_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("proof", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("build_ids", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'running', 'done', 'cancelled')", name=op.f("ck_cells_state")),
        sa.CheckConstraint("trials_failed <= trials_done", name=op.f("ck_cells_counters")),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_cells_campaign_id_campaigns"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["endpoint_id"], ["endpoints.id"], name=op.f("fk_cells_endpoint_id_endpoints")),
        sa.ForeignKeyConstraint(["profile_name"], ["profiles.name"], name=op.f("fk_cells_profile_name_profiles")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cells")),
        sa.UniqueConstraint(
            "campaign_id",
            "endpoint_id",
            "profile_name",
            "vantage",
            name=op.f("uq_cells_campaign_id_endpoint_id_profile_name_vantage"),
        ),
    )
    op.create_index(
        "ix_cells_open",
        "cells",
        ["vantage", "id"],
        unique=False,
        postgresql_where=sa.text("state IN ('pending', 'running')"),
    )
    op.create_table(
        "trials",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.Uuid(), nullable=False),
        sa.Column("cell_id", sa.BigInteger(), nullable=False),
        sa.Column("client_build_id", sa.BigInteger(), nullable=True),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("round_index", sa.Integer(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("failure_detail", sa.Text(), nullable=True),
        sa.Column("handshake_s", sa.Float(precision=53), nullable=True),
        sa.Column("ttfb_s", sa.Float(precision=53), nullable=True),
        sa.Column("ttlb_s", sa.Float(precision=53), nullable=True),
        sa.Column("elapsed_s", sa.Float(precision=53), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("http_version", sa.Text(), nullable=True),
        sa.Column("body_bytes", sa.BigInteger(), nullable=True),
        sa.Column("remote_address", sa.Text(), nullable=True),
        sa.Column("headers", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("proof", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("stored_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("(outcome = 'ok') = (ttlb_s IS NOT NULL)", name=op.f("ck_trials_ttlb")),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_trials_campaign_id_campaigns"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["cell_id"], ["cells.id"], name=op.f("fk_trials_cell_id_cells"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["client_build_id"], ["client_builds.id"], name=op.f("fk_trials_client_build_id_client_builds")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trials")),
        sa.UniqueConstraint(
            "cell_id", "round_index", "client_id", name=op.f("uq_trials_cell_id_round_index_client_id")
        ),
    )
    op.create_index(op.f("ix_trials_campaign_id_id"), "trials", ["campaign_id", "id"], unique=False)
    op.create_table(
        "artifacts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("trial_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("byte_size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["trial_id"], ["trials.id"], name=op.f("fk_artifacts_trial_id_trials"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
    )
    op.create_index(op.f("ix_artifacts_trial_id"), "artifacts", ["trial_id"], unique=False)


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index(op.f("ix_artifacts_trial_id"), table_name="artifacts")
    op.drop_table("artifacts")
    op.drop_index(op.f("ix_trials_campaign_id_id"), table_name="trials")
    op.drop_table("trials")
    op.drop_index("ix_cells_open", table_name="cells", postgresql_where=sa.text("state IN ('pending', 'running')"))
    op.drop_table("cells")
    op.drop_table("campaign_arms")
    op.drop_table("vantages")
    op.drop_table("schedules")
    op.drop_table("profiles")
    op.drop_table("endpoints")
    op.drop_table("clients")
    op.drop_table("client_builds")
    op.drop_index(op.f("ix_campaigns_created_at_id"), table_name="campaigns")
    op.drop_table("campaigns")

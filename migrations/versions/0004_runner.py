"""The runner's rules: A/A arms, sequential stopping, courtesy towards hosts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "hosts",
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_hosts")),
    )
    op.add_column("campaigns", sa.Column("aa", sa.Text(), server_default=sa.text("'off'"), nullable=False))
    op.add_column("campaigns", sa.Column("target_width_pct", sa.Float(precision=53), nullable=True))
    op.add_column(
        "campaigns",
        sa.Column("equivalence_pct", sa.Float(precision=53), server_default=sa.text("3"), nullable=False),
    )
    op.add_column("campaigns", sa.Column("max_rounds", sa.Integer(), nullable=True))
    op.create_check_constraint(op.f("ck_campaigns_aa"), "campaigns", "aa IN ('off', 'baseline', 'both')")
    op.create_check_constraint(op.f("ck_campaigns_max_rounds"), "campaigns", "max_rounds >= rounds")
    op.add_column("cells", sa.Column("rounds_saved", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("cells", sa.Column("trials_saved", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("cells", sa.Column("host", sa.Text(), nullable=True))
    op.add_column("cells", sa.Column("waiting_for", sa.Text(), nullable=True))
    op.add_column("cells", sa.Column("not_before", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "UPDATE cells SET host = lower(substring(endpoint ->> 'url' from '^https://([^/:?#]+)'))"
        " WHERE state IN ('pending', 'running') AND endpoint ->> 'origin' = 'production'"
    )
    op.create_index(
        "ix_cells_host",
        "cells",
        ["host"],
        unique=False,
        postgresql_where=sa.text("state = 'running' AND host IS NOT NULL"),
    )


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index(
        "ix_cells_host", table_name="cells", postgresql_where=sa.text("state = 'running' AND host IS NOT NULL")
    )
    for column in ("not_before", "waiting_for", "host", "trials_saved", "rounds_saved"):
        op.drop_column("cells", column)
    op.drop_constraint(op.f("ck_campaigns_max_rounds"), "campaigns")
    op.drop_constraint(op.f("ck_campaigns_aa"), "campaigns")
    for column in ("max_rounds", "equivalence_pct", "target_width_pct", "aa"):
        op.drop_column("campaigns", column)
    op.drop_table("hosts")

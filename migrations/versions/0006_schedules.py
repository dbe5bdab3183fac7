"""Schedules with policies and their runs, and a nightly one as an example, put aside."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

NIGHTLY = {
    "endpoints": ["testbed-caddy-1MB", "testbed-nginx-1MB", "testbed-haproxy-1MB"],
    "profiles": ["baseline", "loss-1", "delay-50"],
    "clients": ["curl-quiche-h2", "curl-quiche-h3"],
    "rounds": 10,
}
"""Of the testbed: whoever enables it disturbs nobody's servers."""


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("schedules", "last_run_at")
    op.add_column("schedules", sa.Column("missed", sa.Text(), server_default=sa.text("'skip'"), nullable=False))
    op.add_column("schedules", sa.Column("overlap", sa.Text(), server_default=sa.text("'skip'"), nullable=False))
    op.add_column("schedules", sa.Column("next_due_at", sa.DateTime(timezone=True), nullable=True))
    # What was stored before this could never start; it stays put aside until somebody enables it.
    op.execute("UPDATE schedules SET enabled = false")
    op.create_check_constraint(op.f("ck_schedules_missed"), "schedules", "missed IN ('skip', 'catch-up')")
    op.create_check_constraint(op.f("ck_schedules_overlap"), "schedules", "overlap IN ('skip', 'queue')")
    op.create_check_constraint(op.f("ck_schedules_next_due_at"), "schedules", "enabled = (next_due_at IS NOT NULL)")
    op.create_index(
        "ix_schedules_due",
        "schedules",
        ["next_due_at"],
        unique=False,
        postgresql_where=sa.text("next_due_at IS NOT NULL"),
    )
    op.create_table(
        "schedule_runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("schedule_id", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("campaign_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("trigger IN ('due', 'catch-up', 'manual')", name=op.f("ck_schedule_runs_trigger")),
        sa.CheckConstraint(
            "outcome IN ('started', 'queued', 'skipped', 'failed')", name=op.f("ck_schedule_runs_outcome")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaigns.id"],
            name=op.f("fk_schedule_runs_campaign_id_campaigns"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["schedule_id"],
            ["schedules.id"],
            name=op.f("fk_schedule_runs_schedule_id_schedules"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedule_runs")),
        sa.UniqueConstraint("schedule_id", "due_at", name=op.f("uq_schedule_runs_schedule_id_due_at")),
    )
    op.create_index(op.f("ix_schedule_runs_schedule_id_id"), "schedule_runs", ["schedule_id", "id"], unique=False)
    op.create_index(op.f("ix_schedule_runs_campaign_id"), "schedule_runs", ["campaign_id"], unique=False)
    op.create_index(
        "ix_schedule_runs_queued",
        "schedule_runs",
        ["schedule_id"],
        unique=True,
        postgresql_where=sa.text("outcome = 'queued'"),
    )
    op.execute(
        sa.text(
            "INSERT INTO schedules (name, cron, time_zone, template, enabled)"
            " VALUES ('nightly', '15 3 * * *', 'UTC', CAST(:template AS jsonb), false)"
            " ON CONFLICT (name) DO NOTHING"
        ).bindparams(template=json.dumps(NIGHTLY))
    )


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("schedule_runs")
    op.drop_index("ix_schedules_due", table_name="schedules", postgresql_where=sa.text("next_due_at IS NOT NULL"))
    for name in ("next_due_at", "overlap", "missed"):
        op.drop_constraint(op.f(f"ck_schedules_{name}"), "schedules")
    for column in ("next_due_at", "overlap", "missed"):
        op.drop_column("schedules", column)
    op.add_column("schedules", sa.Column("last_run_at", sa.DateTime(timezone=True), nullable=True))

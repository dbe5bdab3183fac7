"""Endpoints and profiles made over the API, budgets per endpoint, and answers to repeated creates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    for table in ("endpoints", "profiles"):
        op.add_column(table, sa.Column("own", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("endpoints", sa.Column("requests_per_day", sa.BigInteger(), nullable=True))
    op.add_column("endpoints", sa.Column("bytes_per_day", sa.BigInteger(), nullable=True))
    op.add_column("endpoints", sa.Column("min_gap_s", sa.Float(precision=53), nullable=True))
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_sha256", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", postgresql.JSONB(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"])


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("idempotency_keys")
    for column in ("min_gap_s", "bytes_per_day", "requests_per_day", "own"):
        op.drop_column("endpoints", column)
    op.drop_column("profiles", "own")

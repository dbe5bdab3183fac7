"""Digest of each body, what each handshake agreed on, and the groups that a campaign pins."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"

_TEXTS = postgresql.ARRAY(sa.Text())


def upgrade() -> None:
    """Apply. Trials get two columns that are null for old ones; the rows of rollups are written once more."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("endpoints", sa.Column("expected_sha256", sa.Text()))
    op.add_column("trials", sa.Column("body_sha256", sa.Text()))
    op.add_column("trials", sa.Column("tls", postgresql.JSONB()))
    op.add_column("campaigns", sa.Column("tls_groups", _TEXTS, server_default=sa.text("'{}'"), nullable=False))
    for name in ("bodies", "tls"):
        op.add_column("cell_rollups", sa.Column(name, _TEXTS))
    op.execute(
        "UPDATE cell_rollups SET bodies = array_fill(''::text, ARRAY[cardinality(rounds)]),"
        " tls = array_fill(''::text, ARRAY[cardinality(rounds)])"
    )
    for name in ("bodies", "tls"):
        op.alter_column("cell_rollups", name, nullable=False)


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    for name in ("tls", "bodies"):
        op.drop_column("cell_rollups", name)
    op.drop_column("campaigns", "tls_groups")
    op.drop_column("endpoints", "expected_sha256")
    for name in ("tls", "body_sha256"):
        op.drop_column("trials", name)

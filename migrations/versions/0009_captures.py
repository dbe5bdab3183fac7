"""Captures: which rounds of a campaign are watched, and what their artifacts are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_TEXTS = ("file_name", "encoding", "dropped_reason")


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("campaigns", sa.Column("capture", sa.Text(), server_default=sa.text("'never'"), nullable=False))
    op.create_check_constraint(
        op.f("ck_campaigns_capture"), "campaigns", "capture IN ('never', 'last-round', 'last-three-rounds')"
    )
    for name in _TEXTS:
        op.add_column("artifacts", sa.Column(name, sa.Text(), server_default=sa.text("''"), nullable=False))
    op.add_column("artifacts", sa.Column("raw_bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.execute("UPDATE artifacts SET raw_bytes = byte_size, file_name = kind || '-' || id")
    op.create_check_constraint(op.f("ck_artifacts_dropped"), "artifacts", "(dropped_reason <> '') = (location = '')")
    op.create_index(op.f("ix_artifacts_location"), "artifacts", ["location"], unique=False)


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DELETE FROM artifacts WHERE dropped_reason <> ''")
    op.drop_index(op.f("ix_artifacts_location"), table_name="artifacts")
    op.drop_constraint(op.f("ck_artifacts_dropped"), "artifacts")
    op.drop_column("artifacts", "raw_bytes")
    for name in reversed(_TEXTS):
        op.drop_column("artifacts", name)
    op.drop_constraint(op.f("ck_campaigns_capture"), "campaigns")
    op.drop_column("campaigns", "capture")

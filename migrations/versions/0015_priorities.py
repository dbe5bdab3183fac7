"""Campaigns have a priority."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("campaigns", sa.Column("priority", sa.Text(), server_default=sa.text("'normal'"), nullable=False))
    op.create_check_constraint(op.f("ck_campaigns_priority"), "campaigns", "priority IN ('high', 'normal', 'low')")


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_constraint(op.f("ck_campaigns_priority"), "campaigns")
    op.drop_column("campaigns", "priority")

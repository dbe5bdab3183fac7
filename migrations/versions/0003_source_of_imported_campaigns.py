"""Where an imported campaign came from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("campaigns", sa.Column("source", postgresql.JSONB(astext_type=sa.Text()), nullable=True))


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("campaigns", "source")

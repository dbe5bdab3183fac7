"""Labels of campaigns, and campaigns that are paused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column(
        "campaigns", sa.Column("labels", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False)
    )
    op.create_index(op.f("ix_campaigns_labels"), "campaigns", ["labels"], postgresql_using="gin")
    op.drop_constraint(op.f("ck_campaigns_state"), "campaigns")
    op.create_check_constraint(
        op.f("ck_campaigns_state"), "campaigns", "state IN ('queued', 'running', 'paused', 'done', 'cancelled')"
    )


def downgrade() -> None:
    """Take back."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("UPDATE campaigns SET state = 'cancelled', finished_at = now() WHERE state = 'paused'")
    op.drop_constraint(op.f("ck_campaigns_state"), "campaigns")
    op.create_check_constraint(
        op.f("ck_campaigns_state"), "campaigns", "state IN ('queued', 'running', 'done', 'cancelled')"
    )
    op.drop_index(op.f("ix_campaigns_labels"), table_name="campaigns")
    op.drop_column("campaigns", "labels")

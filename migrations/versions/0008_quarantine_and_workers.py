"""Cells that crash their workers end in quarantine; each worker has a row with its version and heartbeat."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_STATES = "state IN ('pending', 'running', 'done', 'cancelled', 'quarantined')"


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("cells", sa.Column("crashes", sa.SmallInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("cells", sa.Column("crash_reason", sa.Text(), nullable=True))
    op.drop_constraint(op.f("ck_cells_state"), "cells")
    op.create_check_constraint(op.f("ck_cells_state"), "cells", _STATES)
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("vantage", sa.Text(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("cell_id", sa.BigInteger(), nullable=True),
        sa.Column("trouble", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )


def downgrade() -> None:
    """Take back; a cell in quarantine counts as cancelled then."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("workers")
    op.execute("UPDATE cells SET state = 'cancelled' WHERE state = 'quarantined'")
    op.drop_constraint(op.f("ck_cells_state"), "cells")
    op.create_check_constraint(op.f("ck_cells_state"), "cells", "state IN ('pending', 'running', 'done', 'cancelled')")
    op.drop_column("cells", "crash_reason")
    op.drop_column("cells", "crashes")

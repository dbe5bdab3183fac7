"""What Alembic runs: one transaction for all pending migrations, under an advisory lock.

The lock is taken before the current revision is read, so of two programs that start at once the second finds the
first one's work done.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, text

from lastbyte.adapters.postgres.models import Base

MIGRATION_LOCK = 0x6C617374627974  # "lastbyt" in ASCII: a key that no other program uses by chance


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Whether ``check`` looks at it; the months of ``trials`` come and go."""
    return kind != "table" or name is None or not name.startswith("trials_")


connection: Connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    include_name=_is_ours,
    compare_type=True,
    compare_server_default=True,
)
with context.begin_transaction():
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
    context.run_migrations()

"""Whether a database has the schema that this code wants."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.engine import single_statement
from lastbyte.domain.errors import StoreUnavailable

REMEDY = "Bring it up to date: python -m migrations upgrade."


@lru_cache(maxsize=1)
def revisions() -> tuple[str, ...]:
    """All revisions, oldest first."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return tuple(script.revision for script in ScriptDirectory.from_config(config).walk_revisions())[::-1]


def check_schema(engine: Engine) -> None:
    """Raise StoreUnavailable unless all our migrations are applied; a newer schema is fine, as during an upgrade."""
    with single_statement(engine) as connection:
        known = connection.execute(text("SELECT to_regclass('alembic_version') IS NOT NULL")).scalar_one()
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar() if known else None
    if found is None:
        raise StoreUnavailable(f"The database has no tables yet. {REMEDY}")
    if found in revisions()[:-1]:
        raise StoreUnavailable(f"The database is at revision {found}, not {revisions()[-1]}. {REMEDY}")

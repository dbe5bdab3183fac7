"""The database for commands that need one: the one that is named, else that of the system that runs here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from lastbyte.domain.errors import Unavailable
from lastbyte.settings import Settings, settings, var_dir

if TYPE_CHECKING:
    from sqlalchemy import Engine

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="SQLAlchemy URL; default: LASTBYTE_DATABASE_URL, else the system that runs in LASTBYTE_VAR or ./var.",
        show_default=False,
    ),
]


def find_database(named: str | None) -> str:
    """SQLAlchemy URL of the database to use; raises Unavailable when none is named and no system runs here."""
    from lastbyte.embedded.postgres import Postgres  # noqa: PLC0415 - heavy, and --help must be quick

    if named:
        return named
    configured = settings().database_url
    if configured != Settings.model_fields["database_url"].default:
        return configured
    server = Postgres.under(var_dir()) if (var_dir() / "postgres").is_dir() else None
    if server is None or not server.ready():
        raise Unavailable(
            f"No lastbyte runs in {var_dir()}. Start it with lastbyte up, set LASTBYTE_VAR to its folder,"
            " or name a database with --database-url."
        )
    return server.url()


@contextmanager
def engine_for(named: str | None) -> Iterator[Engine]:
    """An engine on that database, closed with the block."""
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    from lastbyte.adapters.postgres.engine import make_engine  # noqa: PLC0415
    from lastbyte.domain.errors import InvalidInput  # noqa: PLC0415

    url = find_database(named)
    try:
        engine = make_engine(url, "lastbyte cli", pool_size=2)
    except (ArgumentError, ImportError) as exc:
        remedy = "Example: postgresql+psycopg://user@host/lastbyte"
        raise InvalidInput("--database-url", "is no usable SQLAlchemy URL.", remedy) from exc
    try:
        yield engine
    finally:
        engine.dispose()

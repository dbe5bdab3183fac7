"""``lastbyte key``: API keys, made and revoked where the database is reached; no key is needed for that."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lastbyte.cli.store import DatabaseUrl, engine_for
from lastbyte.domain.access import ApiKey, Scope
from lastbyte.domain.errors import InvalidInput

if TYPE_CHECKING:
    from lastbyte.ports import KeyStore

key_app = typer.Typer(no_args_is_help=True, help="API keys: who may read, schedule and administer.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_DURATION = re.compile(r"(?P<number>\d{1,6})(?P<unit>[mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@key_app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Whose it is, for example ci or alice.", show_default=False)],
    scope: Annotated[
        Scope, typer.Option(help="read: look; schedule: also campaigns and schedules; admin: everything.")
    ] = Scope.READ,
    expires: Annotated[
        str | None, typer.Option(help="When it ends: 90d, 12h, 30m, 4w; never when left out.", show_default=False)
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(help="Requests per minute; default: LASTBYTE_RATE_LIMIT_PER_MINUTE.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Make a key and print it, this once: only its hash is stored.

    Examples:

      lastbyte key create ci --scope schedule --expires 90d

      export LASTBYTE_API_KEY=$(lastbyte key create me --scope admin)
    """
    from lastbyte.services.access import create_key  # noqa: PLC0415 - --help must be quick

    with _store(database_url) as store:
        key, stored = create_key(store, name, scope, _duration(expires), rate)
    if as_json:
        _print({"key": key, **_document(stored)})
        return
    Console(stderr=True).print("Keep it: it is not shown again.", highlight=False)
    typer.echo(key)


@key_app.command("generate")
def generate() -> None:
    """Print a random key without storing it, for LASTBYTE_API_KEY.

    API, dashboard and commands that have the same LASTBYTE_API_KEY in their
    environment trust each other; it has all rights.
    """
    from lastbyte.services.access import new_key  # noqa: PLC0415

    typer.echo(new_key())


@key_app.command("list")
def list_keys(as_json: AsJson = False, database_url: DatabaseUrl = None) -> None:
    """Show all keys: prefix, scope, expiry and last use."""
    with _store(database_url) as store:
        keys = store.keys()
    if as_json:
        _print([_document(key) for key in keys])
        return
    table = Table(box=None, header_style="bold")
    for column in ("name", "key", "scope", "state", "expires", "last used", "per minute"):
        table.add_column(column)
    for key in keys:
        shown = _document(key)
        table.add_row(
            escape(key.name),
            f"lb_{key.prefix}_…",
            key.scope.value,
            str(shown["state"]),
            str(shown["expires_at"] or "never"),
            str(shown["last_used_at"] or "never"),
            str(key.requests_per_minute or "default"),
        )
    Console().print(table)


@key_app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Name or prefix of the key.", show_default=False)],
    as_json: AsJson = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Make a key useless; servers that have just seen it follow within five seconds."""
    with _store(database_url) as store:
        key = store.revoke(name)
    if as_json:
        _print(_document(key))
    else:
        Console(stderr=True).print(f"Revoked {escape(key.name)} (lb_{key.prefix}_…).", highlight=False)


@contextmanager
def _store(database_url: str | None) -> Iterator[KeyStore]:
    from lastbyte.adapters.postgres.key_store import PostgresKeyStore  # noqa: PLC0415

    with engine_for(database_url) as engine:
        yield PostgresKeyStore(engine)


def _duration(text: str | None) -> timedelta | None:
    if text is None:
        return None
    found = _DURATION.fullmatch(text)
    if found is None:
        raise InvalidInput("--expires", f"{text!r} is no duration.", "Examples: 90d, 12h, 30m, 4w.")
    return timedelta(**{_UNITS[found["unit"]]: int(found["number"])})


def _document(key: ApiKey) -> dict[str, Any]:
    from lastbyte.services.access import usable  # noqa: PLC0415

    state = "revoked" if key.revoked_at else "usable" if usable(key) else "expired"
    times = ("created_at", "expires_at", "last_used_at", "revoked_at")
    return {
        "name": key.name,
        "prefix": key.prefix,
        "scope": key.scope.value,
        "state": state,
        "requests_per_minute": key.requests_per_minute,
        **{name: moment.isoformat(timespec="seconds") if (moment := getattr(key, name)) else None for name in times},
    }


def _print(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")

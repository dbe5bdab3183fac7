"""``lastbyte config``, ``backup`` and ``restore``: what an operator needs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lastbyte.cli.store import DatabaseUrl, find_database
from lastbyte.domain.errors import InvalidInput, LastbyteError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def config_command(as_json: AsJson = False) -> None:
    """Print all settings, secrets masked, and where each comes from.

    Each is an environment variable LASTBYTE_NAME, or a file lastbyte_name in
    the folder that LASTBYTE_SECRETS names. A value that can't be used is
    refused here as it is when a service starts.
    """
    found = list(_settings())
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    table = Table(box=None, header_style="bold")
    for column in ("setting", "value", "from", "meaning"):
        table.add_column(column, overflow="fold")
    for item in found:
        table.add_row(*(escape(str(item[key])) for key in ("variable", "value", "source", "meaning")))
    Console().print(table)


def backup_command(
    file: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    database_url: DatabaseUrl = None,
) -> None:
    """Write the whole database into one file, while everything runs.

    The file holds campaigns, trials, schedules, the catalogue and the hashes
    of API keys; it does not hold what watched trials left (artifacts).

    Examples:

      lastbyte backup lastbyte-$(date +%F).backup
    """
    from lastbyte.provision import backup  # noqa: PLC0415 - --help must be quick

    size = backup.backup(find_database(database_url), file.absolute(), _tools())
    Console(stderr=True).print(f"Wrote {escape(str(file))}: {size / 1e6:.1f} MB.", highlight=False)


def restore_command(
    file: Annotated[Path, typer.Argument(help="File that lastbyte backup wrote.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", help="Replace what is in the database without asking.")] = False,
    database_url: DatabaseUrl = None,
) -> None:
    """Put a backup in the place of all that is in the database.

    It is filled in beside, brought to the current schema, and takes the
    database's place only when that has succeeded. Services connect again by
    themselves. Stop the workers first: what they measure meanwhile is lost.

    Examples:

      lastbyte restore lastbyte-2026-11-21.backup
    """
    from alembic.util import CommandError  # noqa: PLC0415

    from lastbyte.provision import backup  # noqa: PLC0415
    from migrations import run  # noqa: PLC0415

    url, source = find_database(database_url), file.absolute()
    backup.check_backup(source, _tools())
    if not yes:
        typer.confirm(f"Replace everything in the database by {file}?", abort=True)
    restored = backup.restore(url, source, _tools())
    try:
        run.upgrade(restored)
        backup.swap(url, restored)
    except CommandError as exc:
        backup.drop(restored)
        remedy = "Restore it with that version of lastbyte, or a later one."
        raise InvalidInput(str(file), "was written by a newer lastbyte.", remedy) from exc
    except BaseException:
        backup.drop(restored)
        raise
    Console(stderr=True).print(f"Restored {escape(str(file))}.", highlight=False)


def _tools() -> Path | None:
    """Folder of the embedded PostgreSQL's programs; None leaves it to PATH."""
    from lastbyte.embedded.binaries import find_postgres  # noqa: PLC0415

    try:
        return find_postgres().path.parent
    except LastbyteError:
        return None


def _settings() -> Iterator[dict[str, object]]:
    from pydantic import SecretStr, ValidationError  # noqa: PLC0415

    from lastbyte.settings import Settings, secrets_dir, settings  # noqa: PLC0415

    settings.cache_clear()
    try:
        current = settings()
    except ValidationError as exc:
        first = exc.errors()[0]
        variable = "LASTBYTE_" + "_".join(str(part) for part in first["loc"]).upper()
        raise InvalidInput(variable, f"{first['msg']}.", "See lastbyte config --help.") from exc
    environment = {name.upper() for name in os.environ}
    secrets = secrets_dir()
    files = {file.name.lower() for file in secrets.iterdir()} if secrets is not None else set()
    for name, field in Settings.model_fields.items():
        value, variable = getattr(current, name), f"LASTBYTE_{name.upper()}"
        in_files = variable.lower() in files
        source = "environment" if variable in environment else f"file in {secrets}" if in_files else "default"
        shown = (
            ("********" if value.get_secret_value() else "") if isinstance(value, SecretStr) else _masked(str(value))
        )
        yield {"variable": variable, "value": shown, "source": source, "meaning": field.description or ""}


def _masked(text: str) -> str:
    """A URL without its password."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    if "://" not in text or "@" not in text:
        return text
    try:
        password = urlsplit(text).password
    except ValueError:
        return "********"
    return text.replace(f":{password}@", ":********@", 1) if password else text

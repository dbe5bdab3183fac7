"""``lastbyte capsule``: a whole campaign in one file, out of here and into another lastbyte."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from lastbyte.cli.files import written
from lastbyte.cli.store import DatabaseUrl, engine_for
from lastbyte.domain.errors import InvalidInput
from lastbyte.settings import settings

if TYPE_CHECKING:
    from lastbyte.services.capsule import Capsule, Contents

capsule_app = typer.Typer(
    no_args_is_help=True, help="Take a whole campaign elsewhere in one file that reproduces every number."
)

CapsuleFile = Annotated[Path, typer.Argument(help="The capsule.", metavar="FILE", show_default=False)]
Digest = Annotated[
    str | None,
    typer.Option("--digest", help="Digest that the capsule must have, as its writer published it.", show_default=False),
]


@capsule_app.command("export")
def export_capsule(
    campaign: Annotated[str, typer.Argument(help="Id of the campaign.", metavar="CAMPAIGN", show_default=False)],
    file: CapsuleFile,
    database_url: DatabaseUrl = None,
) -> None:
    """Write a campaign that is over into one file, with all that belongs to it.

    Spec, seed, builds, endpoints, profiles, clients, trials and proofs. Prints
    the capsule's digest: publish it beside the file, so that others can tell
    that they have the original. The same campaign gives the same bytes.

    Examples:

      lastbyte capsule export 3f0e... campaign.capsule
    """
    from lastbyte.adapters.postgres.capsule_store import PostgresCapsuleStore  # noqa: PLC0415 - --help must be quick

    with engine_for(database_url) as engine, written(file) as out:
        digest = PostgresCapsuleStore(engine, _artifacts()).write(campaign, out, f"lastbyte {version('lastbyte')}")
    Console(stderr=True).print(f"Wrote {escape(str(file))}; its digest:", highlight=False, soft_wrap=True)
    typer.echo(digest)


@capsule_app.command("import")
def import_capsule(file: CapsuleFile, digest: Digest = None, database_url: DatabaseUrl = None) -> None:
    """Store the campaign of a capsule, all of it or nothing.

    It keeps its id, and says that it was imported. A capsule that is truncated,
    changed or of a newer format is refused. Importing one again changes nothing.

    Examples:

      lastbyte capsule import campaign.capsule

      lastbyte capsule import campaign.capsule --digest 9b2c...
    """
    from lastbyte.adapters.postgres.capsule_store import PostgresCapsuleStore  # noqa: PLC0415

    with _opened(file, digest) as capsule, engine_for(database_url) as engine:
        new = PostgresCapsuleStore(engine, _artifacts()).store(capsule, datetime.now(UTC))
        contents = capsule.contents
    said = "Imported" if new else "Here already, nothing changed:"
    Console(stderr=True).print(f"{said} {escape(contents.name)!s}", highlight=False, soft_wrap=True)
    typer.echo(contents.campaign_id)


@capsule_app.command("verify")
def verify_capsule(
    file: CapsuleFile,
    digest: Digest = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what it holds as JSON.")] = False,
) -> None:
    """Check that a capsule is whole and unchanged, and say what it holds. Needs no database.

    Examples:

      lastbyte capsule verify campaign.capsule
    """
    with _opened(file, digest) as capsule:
        contents = capsule.contents
    if as_json:
        sys.stdout.write(json.dumps(_document(contents), indent=2) + "\n")
        return
    console = Console()
    for label, value in _document(contents).items():
        console.print(f"{label:<12} {escape(str(value))}", highlight=False, soft_wrap=True)
    console.print("[green]Whole and unchanged.[/]", highlight=False)


@contextmanager
def _opened(file: Path, digest: str | None) -> Iterator[Capsule]:
    from lastbyte.services.capsule import open_capsule  # noqa: PLC0415

    try:
        stream = file.open("rb")
    except OSError as exc:
        raise InvalidInput(str(file), f"can't be read: {exc.strerror}.") from exc
    with stream:
        yield open_capsule(stream, str(file), digest)


def _document(contents: Contents) -> dict[str, object]:
    lines = contents.lines
    return {
        "campaign": contents.campaign_id,
        "name": contents.name,
        "state": contents.state,
        "clients": lines.get("arms.jsonl", 0),
        "cells": lines.get("cells.jsonl", 0),
        "builds": lines.get("builds.jsonl", 0),
        "trials": lines.get("trials.jsonl", 0),
        "artifacts": len(contents.artifacts),
        "bytes": contents.byte_size,
        "format": contents.version,
        "written_by": contents.written_by,
        "digest": contents.digest,
    }


def _artifacts() -> Path:
    return settings().artifacts_folder

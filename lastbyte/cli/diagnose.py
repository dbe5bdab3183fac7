"""``lastbyte doctor`` and ``lastbyte setup``: what is here, and bringing what is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from lastbyte.provision.doctor import DoctorRow

EXIT_INCOMPLETE = 1


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON on standard output.")] = False,
) -> None:
    """Show every client, box, server and origin with its version and state, and how to mend what is missing.

    Ends with 1 when something is missing.
    """
    from lastbyte.provision import doctor as checks  # noqa: PLC0415 - heavy, and --help must be quick

    rows = checks.examine([_boxes, _servers])
    if as_json:
        sys.stdout.write(json.dumps(checks.document(rows), indent=2) + "\n")
    else:
        Console().print(checks.table(rows))
    if not checks.healthy(rows):
        raise typer.Exit(EXIT_INCOMPLETE)


def setup() -> None:
    """Build and unpack the clients and origins that are missing; over in a moment when all is there.

    System packages are not touched; `make setup` brings those.
    """
    from lastbyte.provision.setup import run_setup  # noqa: PLC0415 - heavy, and --help must be quick

    results = run_setup(lambda line: typer.echo(line, err=True))
    if any(result.problem for result in results):
        raise typer.Exit(EXIT_INCOMPLETE)


def _boxes() -> Iterable[DoctorRow]:
    from lastbyte.provision.doctor import box_rows  # noqa: PLC0415
    from netem.factory import available_boxes  # noqa: PLC0415

    return box_rows(available_boxes())


def _servers() -> Iterable[DoctorRow]:
    from lastbyte.embedded.binaries import find_postgres, find_valkey  # noqa: PLC0415
    from lastbyte.provision.doctor import server_row  # noqa: PLC0415

    return [server_row("postgres", find_postgres), server_row("valkey", find_valkey)]

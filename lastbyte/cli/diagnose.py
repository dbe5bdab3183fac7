"""``lastbyte doctor`` and ``lastbyte setup``: what is here, and bringing what is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from lastbyte.domain.profile import Profile
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


def profiles(
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON on standard output.")] = False,
) -> None:
    """List the network conditions that a path can be asked to have; -p NAME chooses one.

    More come from a file of your own, in the format of netem/profiles.toml, named by LASTBYTE_PROFILES_FILE.
    """
    from netem.profiles import load_profiles  # noqa: PLC0415 - heavy, and --help must be quick

    known = load_profiles().values()
    if as_json:
        rows = [{**asdict(profile), "warnings": profile.warnings()} for profile in known]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    width = max(len(profile.name) for profile in known)
    console = Console()
    for group in dict.fromkeys(profile.group for profile in known):
        console.print(f"\n[bold]{group or 'Other profiles'}[/bold]")
        console.print(_profiles_table([profile for profile in known if profile.group == group], width))


def _profiles_table(known: Iterable[Profile], name_width: int) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("name", no_wrap=True, min_width=name_width)
    table.add_column("description")
    for profile in known:
        warnings = [f"[yellow]! {text}[/yellow]" for text in profile.warnings()]
        table.add_row(profile.name, "\n".join([profile.description, *warnings]))
    return table


def _boxes() -> Iterable[DoctorRow]:
    from lastbyte.provision.doctor import box_rows  # noqa: PLC0415
    from netem.factory import available_boxes  # noqa: PLC0415

    return box_rows(available_boxes())


def _servers() -> Iterable[DoctorRow]:
    from lastbyte.embedded.binaries import find_postgres, find_valkey  # noqa: PLC0415
    from lastbyte.provision.doctor import server_row  # noqa: PLC0415

    return [server_row("postgres", find_postgres), server_row("valkey", find_valkey)]

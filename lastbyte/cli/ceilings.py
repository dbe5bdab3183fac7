"""``lastbyte ceilings``: how fast each client is on this machine at most."""

from __future__ import annotations

import dataclasses
import json
import sys
import threading
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from lastbyte.domain.client import expand_clients
from lastbyte.domain.errors import ClientUnavailable
from lastbyte.ports import ClientRunner

if TYPE_CHECKING:
    from lastbyte.domain.ceiling import Ceiling
    from lastbyte.domain.client import Client

URL = "https://testbed-caddy.test/5MB.bin"
"""A large object of the testbed."""


def ceilings_command(
    client: Annotated[
        list[str] | None,
        typer.Option("--client", "-c", help="Client or program; may be given again. Default: all that are installed."),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", "-n", min=1, max=100, help="Counted rounds.")] = 5,
    box: Annotated[str, typer.Option(help="What the link is made of: auto, kernel or uml.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the ceilings as JSON on standard output.")] = False,
) -> None:
    """Measure each client's unshaped rate on this machine and remember it for its build.

    Heatmaps then mark cells whose rate is within a factor of two of it. Needs no Internet. Run it when the machine has
    nothing else to do, and again after installing other builds.
    """
    from lastbyte import wiring  # noqa: PLC0415 - netem is heavy to import, and --help must be quick
    from lastbyte.adapters.ceilings_file import save_ceilings  # noqa: PLC0415
    from lastbyte.cli.measure import stop_on_signals  # noqa: PLC0415
    from lastbyte.services.ceilings import measure_ceilings  # noqa: PLC0415

    known = wiring.clients()
    chosen = expand_clients(client, known, "--client") if client else [item for item in known if item.memory is None]
    endpoint = wiring.endpoint_of(URL)
    stop = threading.Event()
    with wiring.testbed_for(endpoint), wiring.bench(stop, box) as bench, stop_on_signals(stop, bench.runner):
        there = [item for item in chosen if _is_installed(item, bench.runner)]
        found = measure_ceilings(endpoint, there, rounds, bench) if there else []
    file = save_ceilings(found)
    if as_json:
        rows = [{**dataclasses.asdict(item), "measured_at": item.measured_at.isoformat()} for item in found]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    else:
        Console().print(_table(found))
        Console(stderr=True).print(f"Remembered in {file}", highlight=False, soft_wrap=True)
    if stop.is_set() or len(found) < len(there):
        raise typer.Exit(1)


def _is_installed(client: Client, runner: ClientRunner) -> bool:
    try:
        runner.build_of(client)
    except ClientUnavailable:
        return False
    return True


def _table(ceilings: list[Ceiling]) -> Table:
    table = Table("client", "Mbit/s", "n", "box")
    for item in ceilings:
        table.add_row(item.client_id, f"{item.rate_mbit_s:.0f}", str(item.n), item.box_kind)
    return table

"""``lastbyte report phases``: the phases of socket samples as a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lastbyte.cli.foreign import OnErrorOption
from lastbyte.domain.errors import InvalidInput
from lastbyte.services.imported import BadPlace, OnError, listed

if TYPE_CHECKING:
    from lastbyte.services.phases import PhaseRow

FORMAT = "lastbyte-phases/1"
_TITLES = {
    "handshake": "Handshake",
    "ttfb": "Time to\nfirst byte",
    "transfer": "Content\ntransfer",
    "close": "Close\nsocket",
}
_NAMES = {"quic": "QUIC", "tcp": "TCP+TLS"}

report_app = typer.Typer(no_args_is_help=True, help="Tables from results, straight from their files.")


@report_app.callback()
def _root() -> None:
    pass


@report_app.command("phases")
def phases_command(
    folder: Annotated[Path, typer.Argument(help="Folder of socket samples.", metavar="DIR", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, in full digits.")] = False,
    on_error: OnErrorOption = OnError.REFUSE,
) -> None:
    """Phases of socket samples per delay and protocol: mean and deviation in ms.

    Handshake, time to first byte, content transfer and close, from the files
    samples_threshold5_dev2_delay0/quic/remote/TIME/quic-benchmark-server.json.
    The deviation is that of the population (divided by n). QUIC sockets close
    after 10 s of idleness, which the close phase leaves out.

    Examples:

      lastbyte report phases measurements

      lastbyte report phases measurements --json
    """
    from lastbyte.adapters.importers.sockets import read_samples  # noqa: PLC0415 - --help must be quick
    from lastbyte.services.phases import phase_table  # noqa: PLC0415

    if not folder.is_dir():
        raise InvalidInput(str(folder), "is not a folder.")
    read = read_samples(folder)
    if read.bad and on_error is OnError.REFUSE:
        raise InvalidInput(
            str(folder), f"holds samples that can't be used:{listed(read.bad)}", "\nLeave them out: --on-error skip."
        )
    if not read.samples:
        raise InvalidInput(str(folder), f"holds no usable samples.{listed(read.bad)}")
    rows = phase_table(read.samples)
    if as_json:
        sys.stdout.write(json.dumps(_document(rows, read.bad), indent=2) + "\n")
        return
    console = Console()
    for delay_ms in dict.fromkeys(row.delay_ms for row in rows):
        console.print(_table(delay_ms, [row for row in rows if row.delay_ms == delay_ms]))
    console.print("Mean and population standard deviation in ms.", highlight=False)
    if any(row.idle_timeouts for row in rows):
        console.print("Close socket of QUIC: without the idle time-out of 10 s.", highlight=False)
    for bad in read.bad:
        console.print(f"[yellow]left out:[/] {escape(str(bad))}", highlight=False, soft_wrap=True)


def _document(rows: list[PhaseRow], bad: tuple[BadPlace, ...]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "unit": "ms",
        "rows": [
            {
                "delay_ms": row.delay_ms,
                "protocol": row.protocol,
                "n": row.n,
                "idle_timeouts_taken_off": row.idle_timeouts,
                "phases": {
                    phase: {"mean_ms": summary.mean_ms, "sd_ms": summary.sd_ms} for phase, summary in row.phases.items()
                },
            }
            for row in rows
        ],
        "left_out": [str(place) for place in bad],
    }


def _table(delay_ms: float, rows: list[PhaseRow]) -> Table:
    table = Table(title=f"Delay: {delay_ms:g} ms", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("protocol")
    for title in _TITLES.values():
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("n", justify="right")
    for row in rows:
        cells = [f"{row.phases[phase].mean_ms:.1f} ± {row.phases[phase].sd_ms:.1f}" for phase in _TITLES]
        table.add_row(_NAMES[row.protocol], *cells, str(row.n))
    return table

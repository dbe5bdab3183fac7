"""``lastbyte path``: look at a shaped path, prove it, run a program over it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from lastbyte.domain.errors import InvalidInput, LastbyteError
from netem import guest_kernel
from netem.box import BoxStatus
from netem.factory import ShapedPathFactory, UplinkKind, available_boxes
from netem.probe import LossReport, ProbeReport, RateReport, probe
from netem.profiles import find_profile
from netem.sweep import sweep

path_app = typer.Typer(no_args_is_help=True, help="Shaped paths: prove one, run a program over one.")

ProfileOption = Annotated[str, typer.Option("--profile", "-p", help="Name of a profile (see `lastbyte profiles`).")]
BoxOption = Annotated[str | None, typer.Option("--box", help="auto, kernel or uml. [default: LASTBYTE_BOX, else auto]")]
BaseRttOption = Annotated[
    float, typer.Option("--base-rtt-ms", min=0, max=10_000, help="Distance added to the profile, round trip.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@path_app.command("probe")
def probe_command(
    profile: ProfileOption,
    box: BoxOption = None,
    base_rtt_ms: BaseRttOption = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Open a path and measure RTT, rate and loss through it, requested beside achieved.

    Exit code 0 when all is within tolerance, 3 when it is not.
    """
    notes = Console(stderr=True)
    with _explained(), closed_on_sigterm(), notes.status("opening the path") as status:
        wanted = find_profile(profile)
        with ShapedPathFactory(box, uplink="none").open() as path:
            report = probe(path, wanted, base_rtt_ms, lambda text: status.update(f"measuring {text}"))
    if as_json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        Console().print(report_table(report))
    raise typer.Exit(0 if report.within_tolerance else 3)


@path_app.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def exec_command(
    profile: ProfileOption,
    command: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.")],
    box: BoxOption = None,
    base_rtt_ms: BaseRttOption = 0.0,
    uplink: Annotated[str, typer.Option(help="auto, none, testbed or nat.")] = "auto",
) -> None:
    """Run a program in the client's namespace over a shaped path; its exit code is passed on."""
    with _explained(), closed_on_sigterm():
        wanted = find_profile(profile)
        with ShapedPathFactory(box, uplink=_uplink_kind(uplink)).open() as path:
            path.configure(wanted, base_rtt_ms)
            code = subprocess.run([*path.command_prefix(), *command], check=False).returncode
    raise typer.Exit(code if code >= 0 else 128 - code)


@path_app.command("boxes")
def boxes_command(
    as_json: JsonOption = False,
) -> None:
    """Which kinds of box can be had here, and why not."""
    statuses = available_boxes()
    if as_json:
        rows = [
            {"kind": s.kind, "usable": s.usable, "version": s.version, "reason": s.reason, "seed": s.seed}
            for s in statuses
        ]
        print(json.dumps(rows, indent=2))
    else:
        Console().print(boxes_table(statuses))


@path_app.command("fetch-kernel")
def fetch_kernel_command() -> None:
    """Fetch a newer guest kernel and tc for the uml box, so that losses can be the same for each arm of a round.

    From Debian, into the cache folder; nothing is installed. Used from then on, unless LASTBYTE_UML names another.
    """
    with _explained():
        program = guest_kernel.fetch(lambda text: print(text, file=sys.stderr))
    print(f"the uml box now runs {program}")


@path_app.command("sweep")
def sweep_command() -> None:
    """Remove what a killed process left: nft tables, interfaces, guests, folders."""
    with _explained():
        removed = sweep()
    print("\n".join(f"removed {item}" for item in removed) or "nothing to remove")


@contextlib.contextmanager
def closed_on_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind like an exception, so that context managers close what they opened."""

    def leave(_number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def report_table(report: ProbeReport) -> Table:
    """A probe for a reader."""
    title = f"{report.profile} over {report.box} ({report.box_version})"
    table = Table("", "requested", "achieved", "", "within tolerance", title=title, caption_justify="left")
    rtt = report.rtt
    if rtt.median is None or rtt.p5 is None or rtt.p95 is None:
        table.add_row("RTT", f"{rtt.requested:g} ms", "no answer", f"{rtt.lost} lost", "no")
    else:
        spread = f"p5 {rtt.p5:.2f}, p95 {rtt.p95:.2f}, n {rtt.samples}"
        table.add_row("RTT", f"{rtt.requested:g} ms", f"{rtt.median:.2f} ms", spread, _yes(rtt.within_tolerance))
    for name, rate in (("downlink rate", report.downlink_rate), ("uplink rate", report.uplink_rate)):
        table.add_row(*_rate_row(name, rate))
    for name, loss in (("downlink loss", report.downlink_loss), ("uplink loss", report.uplink_loss)):
        table.add_row(*_loss_row(name, loss))
    notes = ["Rates at layer 2 (frame with Ethernet header), as netem counts them. Loss with its 95 % interval."]
    if not report.seed_supported:
        notes.append("This box can't fix its random numbers: each trial meets losses of its own.")
    table.caption = "\n".join([*notes, *(f"! {text}" for text in report.warnings)])
    return table


def boxes_table(statuses: list[BoxStatus]) -> Table:
    """Kinds of box for a reader."""
    table = Table("box", "usable", "kernel", "seed", "")
    for status in statuses:
        table.add_row(status.kind, _yes(status.usable), status.version, _yes(status.seed), status.reason)
    table.caption = (
        "seed: whether losses can be made the same for each arm (netem's seed; kernel and iproute2 from 6.6)."
    )
    return table


def _rate_row(name: str, rate: RateReport) -> tuple[str, ...]:
    requested = "unlimited" if rate.requested is None else f"{rate.requested:g} Mbit/s"
    offered = f"offered {rate.offered:.1f}"
    return name, requested, f"{rate.achieved:.2f} Mbit/s", offered, _yes(rate.within_tolerance)


def _loss_row(name: str, loss: LossReport) -> tuple[str, ...]:
    low, high = loss.interval
    counted = f"{low:.3f} to {high:.3f} %, {loss.lost} of {loss.sent}"
    return name, f"{loss.requested:g} %", f"{loss.achieved:.3f} %", counted, _yes(loss.within_tolerance)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _uplink_kind(text: str) -> UplinkKind:
    kinds: dict[str, UplinkKind] = {"auto": "auto", "none": "none", "testbed": "testbed", "nat": "nat"}
    if text not in kinds:
        raise InvalidInput("uplink", f"there is no uplink {text!r}.", f"Known: {', '.join(kinds)}.")
    return kinds[text]


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """One sentence instead of a traceback: exit code 2 for bad input, 1 for what this machine lacks."""
    try:
        yield
    except LastbyteError as exc:
        print(f"lastbyte: {exc}", file=sys.stderr)
        raise typer.Exit(2 if isinstance(exc, InvalidInput) else 1) from exc


if __name__ == "__main__":
    path_app()

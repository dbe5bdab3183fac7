"""``lastbyte acks``: acknowledged bytes over time, from files or from a campaign's watched trials."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
from rich.console import Console
from rich.table import Table

from lastbyte.cli.store import DatabaseUrl, engine_for
from lastbyte.domain.acks import TraceUnreadable
from lastbyte.domain.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from lastbyte.services.acks import TrialAcks

EXIT_UNREADABLE = 1
_ENDING = re.compile(r"(\.(pcap|pcapng|cap|keys|txt|log|sqlog|qlog|gz))+$")


def acks_command(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Files of fetches (pcap, TLS key log, qlog; those of one fetch share a name), or one campaign's id.",
            metavar="CAMPAIGN|FILE...",
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the picture into this file; its camera saves it as SVG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON on standard output.")] = False,
    stall_ms: Annotated[
        float | None, typer.Option("--stall", help="What counts as a stall, in ms; default: 1.5 round trips.", min=0.1)
    ] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """What clients acknowledged over time, H2 and H3 together: rates, stalls, data sent again.

    Ends with 1 when something can't be read; the table says what and why.

    Examples:

      lastbyte acks results/captures/*.pcap results/captures/*.keys.txt --html acks.html

      lastbyte acks results/captures/*h2* results/captures/*h3* --json

      lastbyte acks 4b7c4a1e-52f0-4d35-9d2a-0d7f6b9a2c11 --html acks.html     (each cell a picture)
    """
    from api.schemas.artifacts import TrialAcksOut  # noqa: PLC0415 - heavy, and --help must be quick

    cells = _of_campaign(sources[0], database_url, stall_ms) if _is_campaign(sources) else _of_files(sources, stall_ms)
    documents = {title: [TrialAcksOut.of(item).model_dump(mode="json") for item in found] for title, found in cells}
    if as_json:
        sys.stdout.write(json.dumps([{"cell": t, "trials": d} for t, d in documents.items()], indent=2) + "\n")
    else:
        for title, trials in documents.items():
            Console().print(_table(title, trials))
    if html is not None:
        _write_html(html, documents)
        Console(stderr=True).print(f"Picture: {html}", highlight=False, soft_wrap=True)
    if any(trial["problem"] for trials in documents.values() for trial in trials):
        raise typer.Exit(EXIT_UNREADABLE)


def _is_campaign(sources: Sequence[str]) -> bool:
    try:
        UUID(sources[0])
    except ValueError:
        return False
    return len(sources) == 1 and not Path(sources[0]).exists()


def _of_campaign(campaign: str, database_url: str | None, stall_ms: float | None) -> list[tuple[str, list[TrialAcks]]]:
    from lastbyte import wiring  # noqa: PLC0415
    from lastbyte.adapters.postgres.artifact_store import PostgresArtifactStore  # noqa: PLC0415
    from lastbyte.adapters.postgres.result_store import PostgresResultStore  # noqa: PLC0415
    from lastbyte.adapters.traces.reading import read_trace  # noqa: PLC0415
    from lastbyte.services.acks import Acks  # noqa: PLC0415
    from lastbyte.settings import settings  # noqa: PLC0415

    with engine_for(database_url) as engine:
        acks = Acks(PostgresArtifactStore(engine), wiring.artifact_files(settings()), read_trace)
        cells = PostgresResultStore(engine).cells(str(UUID(campaign)))
        if not cells:
            raise NotFound("campaign", campaign)
        found = [(f"{cell.endpoint.id}, {cell.profile.name}", acks.of_cell(cell.cell_id, stall_ms)) for cell in cells]
    watched = [(title, trials) for title, trials in found if trials]
    if not watched:
        raise InvalidInput(campaign, "has no watched trials.", 'Run it with "capture": "last-round".')
    return watched


def _of_files(sources: Sequence[str], stall_ms: float | None) -> list[tuple[str, list[TrialAcks]]]:
    fetches: dict[str, list[tuple[str, bytes]]] = {}
    for name in sources:
        file = Path(name)
        try:
            content = file.read_bytes()
        except OSError as exc:
            raise InvalidInput(name, f"can't be read: {exc.strerror}.", "Name files, or a campaign's id.") from exc
        fetches.setdefault(_ENDING.sub("", file.name), []).append((name, content))
    return [("files", [_of_fetch(stem, contents, stall_ms) for stem, contents in fetches.items()])]


def _of_fetch(stem: str, contents: list[tuple[str, bytes]], stall_ms: float | None) -> TrialAcks:
    from lastbyte.adapters.traces.reading import read_trace, sorted_out  # noqa: PLC0415
    from lastbyte.ports import WatchedTrial  # noqa: PLC0415
    from lastbyte.services.acks import TrialAcks  # noqa: PLC0415
    from lastbyte.stats.acks import figures  # noqa: PLC0415

    try:
        trace = read_trace(sorted_out(contents))
    except TraceUnreadable as exc:
        protocol = "h2" if "h2" in stem else "h3"
        return TrialAcks(WatchedTrial(0, 0, "", stem, protocol, -1, "", None, ""), (), None, None, exc)
    protocol = "h2" if trace.transport == "tcp" else "h3"
    trial = WatchedTrial(0, 0, "", stem, protocol, -1, "", None, "")
    return TrialAcks(trial, (), trace, figures(trace, stall_ms), None)


def _table(title: str, trials: Sequence[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in ("fetch", "acks", "KB", "last ms", "Mbit/s", "slope", "on wire", "stalls", "again KB", "from"):
        table.add_column(head, justify="left" if head in ("fetch", "from") else "right", overflow="fold")
    for trial in trials:
        found, problem = trial["figures"], trial["problem"]
        name = f"{trial['protocol'].upper()} {trial['client']}" + (f" {trial['round']}" if trial["trial_id"] else "")
        if problem:
            table.add_row(name, *[""] * 8, f"[red]{problem['kind']}[/]: {problem['detail']}")
            continue
        table.add_row(
            name,
            str(found["acks"]),
            f"{found['acked_bytes'] / 1000:.1f}",
            f"{found['last_ms']:.0f}",
            *(_number(found[key]) for key in ("goodput_mbit_s", "slope_mbit_s", "wire_slope_mbit_s")),
            f"{len(found['stalls'])}, {found['stalled_ms']:.0f} ms" if found["stalls"] else "none",
            f"{found['retransmitted_bytes'] / 1000:.1f}",
            trial["trace"]["source"],
        )
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _write_html(file: Path, cells: dict[str, list[dict[str, Any]]]) -> None:
    from dashboard.figures.acks import acks_figure  # noqa: PLC0415

    config = {"displaylogo": False, "toImageButtonOptions": {"format": "svg", "filename": "lastbyte-acks"}}
    parts = []
    for number, (title, trials) in enumerate(cells.items()):
        figure = acks_figure(trials).update_layout(title={"text": title, "x": 0.01}, margin={"t": 90}, height=560)
        parts.append(figure.to_html(full_html=False, include_plotlyjs=number == 0, config=config))
    page = f'<!doctype html><meta charset="utf-8"><title>Acknowledged bytes over time</title>{"".join(parts)}\n'
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as exc:
        raise InvalidInput("--html", f"{file} can't be written: {exc.strerror}.", "Choose another file.") from exc

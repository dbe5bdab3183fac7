"""What page loads of a cell came to, and waterfalls of those that were watched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median

from dash import html

from dashboard.client import ApiClient, ApiDown, Json
from dashboard.figures.waterfall import ROW_PX, bars, summary, waterfall_figure
from dashboard.formatting import DASH, ms
from dashboard.pages.card import figure_card
from dashboard.pages.cell_parts import table
from dashboard.pages.place import Place

KB = 1000
_LARGEST_HAR = 8_000_000
"""Bytes of a HAR that are read to draw it."""
_HEADS = (
    "", "Load event", "First contentful paint", "Largest contentful paint", "TTLB", "Resources", "KB", "Connections",
    "Protocols", "Loads",
)  # fmt: skip


def section(api: ApiClient, place: Place, cell: Json, trials: Sequence[Json]) -> html.Div | None:
    """The section; None when no trial of the cell loaded a whole page."""
    if not any(trial.get("page") for trial in trials):
        return None
    watched = [trial for trial in trials if trial["capture"] and trial.get("page")]
    return html.Div([loads(trials), *_waterfalls(api, place, cell, watched)], className="lb-stack")


def loads(trials: Sequence[Json]) -> html.Section:
    """Medians of the counted loads of each client."""
    counted = [
        trial
        for trial in trials
        if trial.get("page") and trial["round"] >= 1 and trial["outcome"] == "ok" and not trial["unproven_reason"]
    ]
    clients = sorted({trial["client"] for trial in counted})
    missing = sorted({name for trial in trials if trial.get("page") for name in trial["page"]["blocked_hosts"]})
    failed = max((trial["page"]["failed_resources"] for trial in trials if trial.get("page")), default=0)
    notes = [
        "Medians of counted loads, from the start of the first connection. TTLB is that of the last resource.",
        f"Not loaded, because they are none of the page's own names: {', '.join(missing)}." if missing else "",
        f"Up to {failed} resources of a load were answered with an error." if failed else "",
    ]
    return html.Section(
        [
            html.H2("The whole page"),
            html.P(" ".join(note for note in notes if note), className="lb-muted lb-card-note"),
            table(_HEADS, [_line(client, [t for t in counted if t["client"] == client]) for client in clients])
            if clients
            else html.P("No load counts yet.", className="lb-muted"),
        ],
        className="lb-card",
    )


def _line(client: str, trials: Sequence[Json]) -> html.Tr:
    pages = [trial["page"] for trial in trials]
    times = [_median(page[key] for page in pages) for key in ("load_ms", "fcp_ms", "lcp_ms")]
    times.append(_median(trial["ttlb_ms"] for trial in trials))
    size = _median(page["body_bytes"] for page in pages)
    cells = [
        *(ms(value) for value in times),
        _count(page["resources"] for page in pages),
        DASH if size is None else f"{size / KB:,.0f}",
        _count(page["connections"] for page in pages),
    ]
    return html.Tr(
        [
            html.Th(client, scope="row"),
            *(html.Td(text, className="lb-num") for text in cells),
            html.Td(_protocols(pages), className="lb-wrap"),
            html.Td(len(trials), className="lb-num"),
        ]
    )


def _protocols(pages: Sequence[Json]) -> str:
    totals: dict[str, int] = {}
    for page in pages:
        for name, number in page["protocols"].items():
            totals[name] = totals.get(name, 0) + number
    total = sum(totals.values())
    shares = sorted(totals.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * number / total:.0f} %" for name, number in shares)


def _median(values: object) -> float | None:
    known = [value for value in values if value is not None]  # type: ignore[attr-defined]
    return median(known) if known else None


def _count(values: object) -> str:
    """The number, or from which to which."""
    known = sorted(set(values))  # type: ignore[call-overload]
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


def _waterfalls(api: ApiClient, place: Place, cell: Json, watched: Sequence[Json]) -> list[html.Section]:
    drawn: list[tuple[Json, Json]] = []
    if not watched:
        return []
    by_trial = {trial["trial_id"]: trial["artifacts"] for trial in api.cell_acks(cell["cell_id"])}
    for trial in sorted(watched, key=lambda t: (t["client"], -t["round"])):
        for artifact in by_trial.get(trial["id"], ()):
            if artifact["kind"] == "har" and artifact["download"] and (har := _read(api, artifact)):
                drawn.append((trial, har))  # noqa: PERF401 - readable as it is
    until_ms = max((bar.end_ms for _, har in drawn for bar in bars(har)), default=None)
    return [
        figure_card(
            f"waterfall-{trial['client']}-{-trial['round']}",
            f"Waterfall: {trial['client']}" + (f", capture {-trial['round']}" if trial["round"] < -1 else ""),
            waterfall_figure(har, place.scheme, until_ms),
            note="One bar a resource, from its request to its last byte; the mark is its first byte. A trial that was "
            "watched, which is never counted.",
            says=summary(har),
            height_px=130 + ROW_PX * len(bars(har)),
            width_px=640,
        )
        for trial, har in drawn
    ]


def _read(api: ApiClient, artifact: Json) -> Json | None:
    """The archive; None when it can't be had or read: its download says why."""
    if artifact["bytes"] > _LARGEST_HAR:
        return None
    try:
        answer = api.artifact(artifact["id"], {"Accept-Encoding": "identity"})
        try:
            har: Json = json.loads(answer.read())
        finally:
            answer.close()
        bars(har)
    except (ApiDown, ValueError, KeyError, TypeError, IndexError):
        return None
    return har

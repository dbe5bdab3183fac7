"""What the watched trials of a cell tell: acknowledged bytes over time, numbers, and the files to download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from dashboard.client import ApiClient, ApiProblem, Json
from dashboard.figures.acks import KB, acks_figure, label, summary
from dashboard.formatting import DASH, NBSP
from dashboard.pages.card import figure_card
from dashboard.pages.place import Place

KINDS = {"pcap": "packets", "keylog": "TLS keys", "qlog": "qlog", "har": "HAR"}
_HEADS = (
    "Trial", "Acks", "Acknowledged (KB)", "Last new at (ms)", "Slope (Mbit/s)", "Slow start over (ms)", "Stalls",
    "Sent again (KB)", "From",
)  # fmt: skip


def section(api: ApiClient, place: Place, cell: Json, trials: Sequence[Json]) -> html.Div | None:
    """The section; None when no trial of the cell was watched."""
    if not any(trial["capture"] for trial in trials):
        return None
    try:
        acks = api.cell_acks(cell["cell_id"])
    except ApiProblem as exc:
        return html.Div(f"The captures can't be read: {exc}", className="lb-state", role="status")
    return html.Div([_figure(acks, place.scheme), _table(acks)], className="lb-stack")


def _figure(acks: Sequence[Json], scheme: str) -> html.Section | None:
    if not any(trial["trace"] for trial in acks):
        return None
    return figure_card(
        "acks",
        "Acknowledged bytes over time",
        acks_figure(acks, scheme),
        note="Each dot is one acknowledgement that the client sent, in a trial that was watched and is never counted. "
        "Cross: data sent again came. Thick bar: a stall, longer than 1.5 round trips.",
        says=summary(acks),
        height_px=420,
    )


def _table(acks: Sequence[Json]) -> html.Section:
    lines = [line for trial in acks for line in _lines(trial)]
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in _HEADS]))
    return html.Section(
        [
            html.H3(f"Watched trials ({len(acks)})"),
            html.P(
                "Open packets with their keys in Wireshark, a qlog in qvis; docs/captures.md tells how.",
                className="lb-muted lb-card-note",
            ),
            html.Div(
                html.Table([head, html.Tbody(lines)], className="lb-table lb-table-dense"),
                className="lb-scroll",
                tabIndex="0",
            ),
        ],
        className="lb-card",
    )


def _lines(trial: Json) -> list[html.Tr]:
    """The numbers of a trial, and its files beneath."""
    return [
        html.Tr([html.Th(label(trial), scope="row"), *_numbers(trial)]),
        html.Tr(html.Td(_files(trial), colSpan=len(_HEADS), className="lb-wrap lb-files")),
    ]


def _numbers(trial: Json) -> list[html.Td]:
    found, trace = trial["figures"], trial["trace"]
    if not found:
        return [html.Td(trial["problem"]["detail"], colSpan=len(_HEADS) - 1, className="lb-wrap lb-failures")]
    stalls = f"{len(found['stalls'])}, {found['stalled_ms']:,.0f}{NBSP}ms" if found["stalls"] else "none"
    values = (
        f"{found['acks']:,}",
        f"{found['acked_bytes'] / KB:,.1f}",
        f"{found['last_ms']:,.0f}",
        _decimal(found["slope_mbit_s"], 2),
        _decimal(found["slow_start_exit_ms"], 0),
        stalls,
        f"{found['retransmitted_bytes'] / KB:,.1f}",
    )
    note = f"{trace['source']}. {trace['note']}" if trace["note"] else trace["source"]
    return [*(html.Td(value, className="lb-num") for value in values), html.Td(note, className="lb-wrap")]


def _files(trial: Json) -> list[Any]:
    parts: list[Any] = ["Download: "]
    for item in trial["artifacts"]:
        name = KINDS.get(item["kind"], item["kind"])
        if item["download"]:
            size = f"{item['bytes'] / KB:,.0f}{NBSP}KB"
            parts.append(html.A(f"{name} ({size})", href=f"/artifact/{item['id']}", download=item["file_name"]))
        else:
            parts.append(html.Span(f"no {name}: {item['dropped_reason']}", className="lb-muted"))
        parts.append(" · ")
    return parts[:-1] if trial["artifacts"] else ["It left no files."]


def _decimal(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"

"""The drawer with the trials behind one cell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import dash_ag_grid as dag
import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.client import Json
from dashboard.figures.cell_text import TITLES, condition, failures_by_kind, interval_of
from dashboard.figures.palette import palette
from dashboard.formatting import DASH, NBSP, exact_time, ms, number, signed_pct, size_label
from dashboard.words import explanation, kind_of

_MS = {"function": "params.value == null ? '-' : d3.format(',.1f')(params.value)"}
_COUNT = {"function": "params.value == null ? '-' : d3.format(',')(params.value)"}

_RIGHT = {"type": "rightAligned"}

COLUMNS: list[dict[str, Any]] = [
    {"field": "round", "headerName": "Round", "width": 82, "pinned": "left", **_RIGHT},
    {"field": "client", "headerName": "Client", "width": 160, "filter": True},
    {"field": "outcome", "headerName": "Outcome", "width": 120, "filter": True},
    {"field": "handshake_ms", "headerName": "Handshake (ms)", "width": 138, **_RIGHT, "valueFormatter": _MS},
    {"field": "ttfb_ms", "headerName": "TTFB (ms)", "width": 106, **_RIGHT, "valueFormatter": _MS},
    {"field": "ttlb_ms", "headerName": "TTLB (ms)", "width": 110, **_RIGHT, "valueFormatter": _MS},
    {"field": "protocol", "headerName": "Protocol", "width": 100},
    {"field": "http_status", "headerName": "Status", "width": 84, **_RIGHT},
    {"field": "body_bytes", "headerName": "Bytes", "width": 104, **_RIGHT, "valueFormatter": _COUNT},
    {"field": "remote_address", "headerName": "Remote address", "width": 140},
    {"field": "position", "headerName": "Place in round", "width": 130, **_RIGHT},
    {"field": "started", "headerName": "Started", "width": 190},
    {"field": "failure_detail", "headerName": "Failure detail", "width": 320},
    {"field": "client_version", "headerName": "Client build", "width": 320},
]  # fmt: skip


def drawer(scheme: str) -> dmc.Drawer:
    """The empty drawer; its parts are filled when a cell is opened."""
    return dmc.Drawer(
        id=ids.CELL_DRAWER,
        position="right",
        size="min(900px, 100vw)",
        padding="lg",
        opened=False,
        title="Trials of this cell",
        closeButtonProps={"aria-label": "Close"},
        children=[
            html.Div(id=ids.CELL_HEAD),
            dcc.Graph(id=ids.CELL_PLOT, config={"displaylogo": False, "displayModeBar": False}, className="lb-plot"),
            html.Div(
                [
                    html.H3("Trials"),
                    html.Button("Download CSV", id=ids.CELL_CSV, className="lb-button lb-push", type="button"),
                ],
                className="lb-title-row",
            ),
            dag.AgGrid(
                id=ids.CELL_GRID,
                columnDefs=COLUMNS,
                rowData=[],
                getRowId="params.data.id",
                defaultColDef={"sortable": True, "filter": False, "resizable": True, "suppressMovable": True},
                dashGridOptions={"domLayout": "autoHeight", "animateRows": False, "theme": _grid_theme(scheme)},
                className="lb-grid",
                rowClassRules={"lb-row-warmup": "params.data.warmup", "lb-row-failed": "params.data.outcome != 'ok'"},
                style={"width": "100%", "height": None},
            ),
            dcc.Download(id=ids.CELL_DOWNLOAD),
        ],
    )


def head(provider: str, cell: Json) -> html.Div:
    """What the cell says, how sure that is, and what its link was."""
    kind = kind_of(cell)
    bounds = interval_of(cell)
    difference = signed_pct(cell["diff_pct"]) if cell["diff_pct"] is not None else DASH
    return html.Div(
        [
            html.H2(f"{provider} · {size_label(cell['size_label'])} · {cell['profile']}"),
            html.P(condition(cell), className="lb-muted lb-under"),
            html.Div(
                [
                    _figure(
                        "H3 against H2",
                        difference,
                        f"95{NBSP}% interval {bounds}{NBSP}%" if bounds else "no interval yet",
                    ),
                    _figure("Paired rounds", f"n = {cell['n']}", "in which both delivered"),
                    _arm("H2", cell["baseline"]),
                    _arm("H3", cell["candidate"]),
                    _link(cell),
                ],
                className="lb-figures",
            ),
            html.P([html.Strong(f"{TITLES[kind]}. "), explanation(cell, kind)], className="lb-verdict"),
            html.P(cell["unproven_reason"], className="lb-failures") if cell.get("unproven_reason") else None,
        ]
    )


def _grid_theme(scheme: str) -> dict[str, str]:
    pal = palette(scheme)
    params = {
        "fontFamily": "inherit",
        "fontSize": 13,
        "headerFontSize": 13,
        "rowHeight": 34,
        "headerHeight": 38,
        "spacing": 6,
        "backgroundColor": pal.surface,
        "foregroundColor": pal.text,
        "headerBackgroundColor": pal.empty,
        "borderColor": pal.grid,
        "browserColorScheme": scheme,
    }
    return {"function": f"themeQuartz.withParams({json.dumps(params)})"}


def rows(trials: Sequence[Json], zone: str) -> list[Json]:
    """Trials as rows of the grid, by round and place."""
    ordered = sorted(trials, key=lambda t: (t["round"], t["position"]))
    return [
        {
            "id": str(trial["id"]),
            **{key: trial[key] for key in _PLAIN},
            "protocol": f"HTTP/{trial['http_version']}" if trial["http_version"] else None,
            "started": exact_time(trial["started_at"], zone),
        }
        for trial in ordered
    ]


_PLAIN = (
    "round", "warmup", "position", "client", "outcome", "handshake_ms", "ttfb_ms", "ttlb_ms", "http_status",
    "body_bytes", "remote_address", "failure_detail", "client_version",
)  # fmt: skip


def _figure(label: str, value: str, note: str) -> html.Div:
    return html.Div(
        [
            html.Span(label, className="lb-figure-label"),
            html.Span(value, className="lb-figure-value"),
            html.Span(note, className="lb-figure-note"),
        ],
        className="lb-figure",
    )


def _arm(name: str, arm: Json) -> html.Div:
    failed = failures_by_kind(arm)
    return _figure(f"{name} median TTLB", ms(arm["median_ttlb_ms"]), f"failed: {failed}" if failed else "no failures")


def _link(cell: Json) -> html.Div:
    proof = cell.get("proof") or {}
    if proof.get("rtt_achieved_ms") is None:
        return _figure("Link RTT", DASH, "not probed yet")
    requested = proof.get("rtt_requested_ms")
    asked = f"{number(requested)} ms requested" if requested is not None else "nothing requested"
    return _figure("Link RTT", ms(proof["rtt_achieved_ms"]), f"{asked}, {proof.get('box_kind', '?')} box")

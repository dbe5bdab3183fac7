"""Tables of a cell's page: percentiles, proof of the link, trials, and the commands to run it again by hand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

import dash_ag_grid as dag
from dash import dcc, html

from dashboard import ids, linkproof
from dashboard.client import Json
from dashboard.figures.palette import palette
from dashboard.formatting import DASH, exact_time, ms, number
from dashboard.pages.place import Place
from dashboard.pages.view import csv_href

_MS = {"function": "params.value == null ? '-' : d3.format(',.1f')(params.value)"}
_COUNT = {"function": "params.value == null ? '-' : d3.format(',')(params.value)"}

_RIGHT = {"type": "rightAligned"}

_FROM_TO = "agNumberColumnFilter"

COLUMNS: list[dict[str, Any]] = [
    {"field": "round", "headerName": "Round", "width": 90, "pinned": "left", "filter": _FROM_TO, **_RIGHT},
    {"field": "client", "headerName": "Client", "width": 165, "filter": True},
    {"field": "outcome", "headerName": "Outcome", "width": 120, "filter": True},
    {"field": "handshake_ms", "headerName": "Handshake (ms)", "width": 145, **_RIGHT, "valueFormatter": _MS},
    {"field": "ttfb_ms", "headerName": "TTFB (ms)", "width": 115, **_RIGHT, "valueFormatter": _MS},
    {"field": "ttlb_ms", "headerName": "TTLB (ms)", "width": 125, "filter": _FROM_TO, **_RIGHT, "valueFormatter": _MS},
    {"field": "left_out", "headerName": "Left out because", "width": 170, "filter": True},
    {"field": "protocol", "headerName": "Protocol", "width": 105},
    {"field": "http_status", "headerName": "Status", "width": 90, **_RIGHT},
    {"field": "body_bytes", "headerName": "Bytes", "width": 110, **_RIGHT, "valueFormatter": _COUNT},
    {"field": "dropped", "headerName": "Packets dropped", "width": 150, **_RIGHT, "valueFormatter": _COUNT},
    {"field": "remote_address", "headerName": "Remote address", "width": 140},
    {"field": "position", "headerName": "Place in round", "width": 135, **_RIGHT},
    {"field": "started", "headerName": "Started", "width": 195},
    {"field": "failure_detail", "headerName": "Failure detail", "width": 320},
    {"field": "client_version", "headerName": "Client build", "width": 320},
]  # fmt: skip

_PLAIN = (
    "round", "warmup", "position", "client", "outcome", "handshake_ms", "ttfb_ms", "ttlb_ms", "http_status",
    "body_bytes", "remote_address", "failure_detail", "client_version",
)  # fmt: skip


def percentiles(cell: Json) -> html.Section:
    """p50, p90 and p99 of both clients with intervals."""
    lines = [
        html.Tr(
            [
                html.Th(f"{name}, p{number(p['percent'])}", scope="row"),
                html.Td(ms(p["value_ms"]), className="lb-num lb-strong"),
                html.Td(f"{ms(p['ci_low_ms'])} to {ms(p['ci_high_ms'])}", className="lb-num"),
                html.Td(p["n"], className="lb-num"),
            ]
        )
        for name, arm in (("H2", "baseline"), ("H3", "candidate"))
        for p in cell[arm].get("percentiles") or ()
    ]
    heads = ("", "TTLB", "95 % interval", "Trials")
    return html.Section(
        [
            html.H2("Percentiles of TTLB"),
            html.P(
                f"A time-out counts as longer than every success. {DASH} where there are too few trials to say: "
                "a p99 of ten trials is just the largest of ten.",
                className="lb-muted lb-card-note",
            ),
            table(heads, lines),
        ],
        className="lb-card",
    )


def link_proof(cell: Json, trials: Sequence[Json], profile: Json | None) -> html.Section:
    """Requested beside achieved; red where out of tolerance."""
    lines = [
        html.Tr(
            [
                html.Th(row.what, scope="row", title=row.help or None),
                html.Td(row.requested),
                html.Td(
                    [html.Strong("out of tolerance: "), row.achieved] if row.out else row.achieved, className="lb-wrap"
                ),
            ],
            className="lb-out" if row.out else None,
        )
        for row in linkproof.rows(cell, trials, profile)
    ]
    proof = cell.get("proof") or {}
    machine = proof.get("machine") or {}
    made = [
        f"{proof['box_kind']} box" if proof.get("box_kind") else "",
        f"address {proof['address']}" if proof.get("address") else "",
        f"kernel {machine['kernel']}" if machine.get("kernel") else "",
        f"TCP {machine['tcp_congestion_control']}" if machine.get("tcp_congestion_control") else "",
    ]
    return html.Section(
        [
            html.H2("Proof of the link"),
            html.P(", ".join(part for part in made if part), className="lb-muted lb-card-note"),
            table(("", "Requested", "Achieved"), lines),
        ],
        className="lb-card",
    )


def table(heads: Sequence[str], lines: Sequence[html.Tr], look: str = "") -> html.Div:
    """A small table that scrolls by itself when it is too wide; ``look``: a class of its own."""
    head = [html.Th(text, scope="col") if text else html.Td("") for text in heads]
    return html.Div(
        html.Table([html.Thead(html.Tr(head)), html.Tbody(list(lines))], className=f"lb-table lb-table-dense {look}"),
        className="lb-scroll",
        tabIndex="0",
    )


def trials_grid(place: Place, trials: Sequence[Json]) -> html.Section:
    """Every trial, with filters."""
    return html.Section(
        [
            html.Div(
                [
                    html.H2(f"Trials ({len(trials):,})", id=ids.slot("trials")),
                    html.A(
                        "Download CSV", href=csv_href(place, "trials"), className="lb-button lb-push", download=""
                    ),
                ],
                className="lb-title-row",
            ),
            dag.AgGrid(
                id=ids.grid("trials"),
                columnDefs=COLUMNS,
                rowData=rows(trials, place.zone),
                getRowId="params.data.id",
                defaultColDef={
                    "sortable": True, "filter": False, "resizable": True, "suppressMovable": True,
                    "floatingFilter": True, "suppressHeaderMenuButton": True,
                },
                dashGridOptions={
                    "animateRows": False,
                    "theme": _grid_theme(place.scheme),
                    "pagination": True,
                    "paginationPageSize": 20,
                    "paginationPageSizeSelector": [20, 50, 200],
                    "domLayout": "autoHeight",
                    "ensureDomOrder": True,
                },
                className="lb-grid",
                rowClassRules={
                    "lb-row-warmup": "params.data.warmup || params.data.left_out",
                    "lb-row-failed": "params.data.outcome != 'ok'",
                },
                style={"width": "100%", "height": None},
            ),
        ],
        className="lb-card",
    )  # fmt: skip


def rows(trials: Sequence[Json], zone: str) -> list[Json]:
    """Trials as rows of the grid, by round and place."""
    ordered = sorted(trials, key=lambda t: (t["round"], t["position"]))
    return [
        {
            "id": str(trial["id"]),
            **{key: trial[key] for key in _PLAIN},
            "left_out": "watched, never counted" if trial["capture"] else trial.get("unproven_reason"),
            "dropped": sum(trial["proof"][d]["dropped_packets"] for d in ("downlink", "uplink"))
            if trial.get("proof")
            else None,
            "protocol": f"HTTP/{trial['http_version']}" if trial["http_version"] else None,
            "started": exact_time(trial["started_at"], zone),
        }
        for trial in ordered
    ]


def commands(cell: Json, tc: Json | None) -> html.Section:
    """The exact command of each client, and what makes the link, each with a button that copies it."""
    proof = cell.get("proof") or {}
    found = [
        (client, shlex.join(argv))
        for client, argv in sorted((proof.get("commands") or {}).items())
        if "@" not in client
    ]
    if tc:
        found += [
            (f"Link, {name}", "\n".join(tc[key]))
            for key, name in (("downlink", "to the client"), ("uplink", "from the client"))
            if tc.get(key)
        ]
    return html.Section(
        [
            html.H2("Run it again by hand"),
            html.P(
                "The commands as they were run, paths included; tc runs as root on the interfaces of a bridge between "
                "client and server. Times: curl's time_total less time_namelookup is the TTLB.",
                className="lb-muted lb-card-note",
            ),
            *(_command(f"command-{i}", name, text) for i, (name, text) in enumerate(found)),
            None if found else html.P("No command is stored: these results were imported.", className="lb-muted"),
        ],
        className="lb-card",
    )


def _command(ident: str, name: str, text: str) -> html.Div:
    return html.Div(
        [
            html.Div(
                [
                    html.Strong(name),
                    dcc.Clipboard(content=text, title=f"Copy the command of {name}", className="lb-copy"),
                ],
                className="lb-command-head",
            ),
            html.Pre(text, id=ident, tabIndex="0", className="lb-command"),
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

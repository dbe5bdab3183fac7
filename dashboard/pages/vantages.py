"""Places with workers: alive or dead, what they have, how fast their clients can go."""

from __future__ import annotations

import json

from dash import html

from dashboard.client import ApiClient, Json
from dashboard.formatting import DASH, NBSP, plural
from dashboard.pages import parts
from dashboard.pages.cell_parts import table
from dashboard.pages.place import Place
from dashboard.pages.shell import state_box
from dashboard.pages.view import Drawn


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    found = api.vantages()
    open_campaigns = [c for c in api.campaigns()["items"] if c["state"] not in parts.IS_OVER]
    return Drawn(
        seen=json.dumps([[v["name"], v["alive"], v["trouble"], v["last_seen_at"]] for v in found])
        + json.dumps([[c["id"], c["cells_done"]] for c in open_campaigns]),
        head=html.Div(
            [
                html.H1("Vantages"),
                html.P(
                    "Where it is measured from: each has a queue, a worker and a shaped path of its own.",
                    className="lb-meta",
                ),
            ]
        ),
        body=lambda: [_card(v, open_campaigns, place) for v in found] if found else _none(),
        live=True,
    )


def _none() -> html.Div:
    return state_box(
        "No worker has called in yet",
        [
            "A worker makes its vantage known when it starts. Look at its log, or run ",
            html.Code("lastbyte doctor"),
            ".",
        ],
    )


def _card(vantage: Json, campaigns: list[Json], place: Place) -> html.Section:
    waiting = sum(c["cells_planned"] - c["cells_done"] for c in campaigns if c["vantage"] == vantage["name"])
    state = "alive" if vantage["alive"] else "dead"
    facts = (
        ("Last heard of", parts.time_tag(vantage["last_seen_at"], place.zone)),
        ("Waiting", plural(vantage.get("queue_depth", waiting), "cell")),
        ("Box", f"{vantage['box_kind']}{' (User-Mode Linux guest)' if vantage['box_kind'] == 'uml' else ''}"),
        ("Machine", f"{vantage['hostname']}, Linux {vantage['kernel']}"),
    )
    lines = [
        html.Tr(
            [
                html.Th(client["id"], scope="row", className="lb-nowrap"),
                html.Td(
                    f"{client['ceiling_mbit_s']:,.0f}{NBSP}Mbit/s" if client["ceiling_mbit_s"] is not None else DASH,
                    className="lb-num",
                ),
                html.Td(client["version"], className="lb-build"),
                html.Td(html.Code(client["sha256"][:12]), title=client["sha256"]),
            ]
        )
        for client in vantage["clients"]
    ]
    return html.Section(
        [
            html.Div([html.H2(vantage["name"]), parts.badge(state)], className="lb-title-row"),
            html.P([html.Strong("Can't measure now. "), vantage["trouble"]], className="lb-warning", role="alert")
            if vantage["trouble"]
            else None,
            html.Dl(
                [part for term, value in facts for part in (html.Dt(term), html.Dd(value))],
                className="lb-facts",
            ),
            html.H3("Clients"),
            html.P(
                [
                    "Ceiling: the most a client can do on that machine without shaping, by ",
                    html.Code("lastbyte ceilings"),
                    "; a dash where it was not measured.",
                ],
                className="lb-muted lb-card-note",
            ),
            table(("Client", "Ceiling", "Build", "SHA-256"), lines, "lb-builds"),
        ],
        className="lb-card",
    )

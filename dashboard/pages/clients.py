"""H3 clients side by side."""

from __future__ import annotations

import csv
import io
import json
from functools import cache

from dash import dcc, html

from dashboard.client import ApiClient, Json
from dashboard.figures.clients import Grid, clients_figure, figure_height, figure_width, grids
from dashboard.pages.card import figure_card
from dashboard.pages.place import Place
from dashboard.pages.shell import state_box
from dashboard.pages.view import Choice, Drawn, csv_href, value_in

MODES = (
    ("lastbyte", "lastbyte: paired, with intervals"),
    ("yu2020", "yu2020: means, with a t-test"),
    ("yu2021", "yu2021: medians"),
)
_FIELDS = (
    "client", "n", "value_pct", "shown_pct", "p_value", "paired_n", "paired_pct", "ci_low_pct", "ci_high_pct",
    "confidence",
)  # fmt: skip
WHISKERS = (
    " The whisker under a number is the interval of the paired difference, zero in the middle and ±{:g} % at the sides "
    "of the square; a ? marks a difference that is not established."
)
_CELL = ("endpoint", "size_label", "profile", "loss_pct", "extra_rtt_ms", "rate_mbit_s", "best", "unproven_reason")


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    measured = [c for c in api.campaigns()["items"] if c["trials_done"]]
    head = html.Div(
        [
            html.H1("HTTP/3 clients side by side"),
            html.P(
                "Percent over the best HTTP/3 client of each cell: the redder, the slower.",
                className="lb-meta",
            ),
        ]
    )
    if not measured:
        return Drawn("empty", head, _nothing)
    several = [c for c in measured if sum("-h3" in name and "@" not in name for name in c["clients"]) > 1]
    chosen = value_in(place, "campaign", [c["id"] for c in measured], (several or measured)[0]["id"])
    mode = value_in(place, "mode", [m for m, _ in MODES], "lastbyte")
    campaign = next(c for c in measured if c["id"] == chosen)
    comparison = cache(lambda: api.clients_comparison(chosen, mode))
    return Drawn(
        seen=json.dumps([campaign["trials_done"], campaign["state"], place.query, place.scheme]),
        head=head,
        controls=lambda: [
            Choice("campaign", "Campaign", [(c["id"], c["name"]) for c in measured], chosen),
            Choice("mode", "Definition", MODES, mode),
        ],
        body=lambda: body(comparison(), place),
        live=campaign["state"] not in ("done", "cancelled"),
        files={"clients": lambda: clients_csv(comparison())},
    )


def body(comparison: Json, place: Place) -> list[html.Div | html.P | html.Section]:
    """The note of the definition, and a grid per condition."""
    note = html.P(
        [
            html.Strong("How to read it. " if comparison["mode"] == "lastbyte" else "As in the paper. "),
            comparison["mode_note"],
            WHISKERS.format(comparison["limits_pct"][1]),
        ],
        className="lb-warning",
        role="note",
    )
    if len(comparison["clients"]) < 2:
        return [
            note,
            state_box(
                "Only one HTTP/3 client here",
                f"This campaign measured {', '.join(comparison['clients']) or 'no HTTP/3 client'}. "
                "Choose another campaign, or schedule one with several HTTP/3 clients.",
                dcc.Link("New campaign", href="/new", className="lb-button lb-button-primary"),
            ),
        ]
    limit = float(comparison["limits_pct"][1])
    cards = [
        figure_card(
            f"clients {grid.profile}",
            f"{grid.profile}: {grid.condition}",
            clients_figure(grid, limit, place.scheme),
            note=rests_on(grid),
            csv=csv_href(place, "clients"),
            height_px=figure_height(grid),
            width_px=figure_width(grid),
        )
        for grid in grids(comparison)
    ]
    return [note, html.Div(cards, className="lb-deck lb-deck-wide")]


def rests_on(grid: Grid) -> str:
    """On how many trials the squares of a grid rest."""
    counts = sorted({item["n"] for item in grid.cells.values()})
    if not counts:
        return "Nothing measured yet."
    few_to_many = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"n = {few_to_many} trials of each client per square."


def clients_csv(comparison: Json) -> str:
    """One line per client and cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["provider", *_CELL, *_FIELDS])
    for provider in comparison["providers"]:
        for cell in provider["cells"]:
            for found in cell["clients"]:
                writer.writerow([provider["provider"], *(cell[k] for k in _CELL), *(found[k] for k in _FIELDS)])
    return out.getvalue()


def _nothing() -> html.Div:
    return state_box(
        "Nothing measured yet",
        "A campaign with several HTTP/3 clients is shown here.",
        dcc.Link("New campaign", href="/new", className="lb-button lb-button-primary"),
    )

"""The page of one cell: everything behind one square."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dash import html

from dashboard.client import ApiClient, ApiProblem, Json
from dashboard.export import heatmap_csv, trials_csv
from dashboard.figures.cell_text import TITLES, cautions, condition, difference, failures_by_kind, interval_of, p_text
from dashboard.figures.grid import all_cells
from dashboard.formatting import DASH, NBSP, ms, number, plural, size_label
from dashboard.merge import labelled
from dashboard.pages import acks, page_loads, parts
from dashboard.pages.campaign import back
from dashboard.pages.cell_figures import figures
from dashboard.pages.cell_parts import commands, link_proof, percentiles, trials_grid
from dashboard.pages.place import Place
from dashboard.pages.view import Choice, Drawn
from dashboard.words import explanation, kind_of


def draw(api: ApiClient, place: Place, campaign_id: str, cell_id: int) -> Drawn:
    """The page."""
    campaign = api.campaign(campaign_id)
    query = place.query
    heatmap = labelled(campaign, api.heatmap(campaign_id, query.get("baseline"), query.get("candidate")))
    provider, cell = find(heatmap, cell_id)
    arms = (heatmap["baseline"], heatmap["candidate"])

    def trials() -> list[Json]:
        return api.trials(campaign_id, endpoint=cell["endpoint"], profile=cell["profile"])

    counts = [cell["state"], cell["n"], *(cell[arm]["n"] + cell[arm]["failures"] for arm in ("baseline", "candidate"))]
    clients = [c for c in campaign["clients"] if "@" not in c]
    return Drawn(
        seen=json.dumps([counts, place.query, place.scheme]),
        head=head(campaign, provider, cell),
        controls=lambda: [
            Choice("candidate", "H3 client", [(c, c) for c in clients if "-h3" in c] or [(arms[1], arms[1])], arms[1]),
            Choice("baseline", "against", [(c, c) for c in clients if "-h2" in c] or [(arms[0], arms[0])], arms[0]),
        ],
        body=lambda: body(api, place, cell, arms, trials()),
        live=cell["state"] in ("pending", "running") and campaign["state"] not in parts.IS_OVER,
        files={
            "trials": lambda: trials_csv(trials()),
            "cell": lambda: heatmap_csv({**heatmap, "providers": [{"provider": provider, "cells": [cell]}]}),
        },
    )


def find(heatmap: Json, cell_id: int) -> tuple[str, Json]:
    """Provider and cell by its number; ApiProblem 404 when this campaign has none."""
    for provider, cell in all_cells(heatmap):
        if cell["cell_id"] == cell_id:
            return provider, cell
    raise ApiProblem(
        404, "There is no such cell", f"This campaign has no cell {cell_id}. The link may be from another one.", []
    )


def head(campaign: Json, provider: str, cell: Json) -> html.Div:
    """What the cell says, how sure that is, and what weakens it."""
    kind = kind_of(cell)
    said = cautions(cell)
    return html.Div(
        [
            back(campaign),
            html.Div(
                [html.H1(f"{provider} · {size_label(cell['size_label'])} · {cell['profile']}")],
                className="lb-title-row",
            ),
            html.P(
                parts.joined(
                    html.Span(condition(cell)), html.Span(cell["endpoint"]), html.Span(f"cell {cell['cell_id']}")
                ),
                className="lb-meta",
            ),
            html.Div(
                [
                    html.P([html.Strong(f"{TITLES[kind]}. "), explanation(cell, kind)], className="lb-verdict"),
                    html.P(cell["unproven_reason"], className="lb-failures") if cell.get("unproven_reason") else None,
                    html.Ul([html.Li(text) for text in said], className="lb-cautions") if said else None,
                    html.Div(key_figures(cell), className="lb-figures"),
                ],
                className="lb-card",
            ),
        ]
    )


def key_figures(cell: Json) -> list[html.Div]:
    """The numbers of the cell, large."""
    bounds = interval_of(cell)
    level = number(round(100 * cell.get("confidence", 0.95), 1))
    p, q = cell.get("p_value"), cell.get("q_value")
    return [
        _figure(
            "H3 against H2",
            difference(cell),
            f"{level}{NBSP}% interval {bounds}{NBSP}%" if bounds else "no interval yet",
        ),
        _figure("Paired rounds", f"n = {cell['n']}", "in which both delivered or timed out"),
        _figure(
            "Test (Wilcoxon)",
            f"p {p_text(p)}" if p is not None else DASH,
            f"q {p_text(q)} over the grid" if q is not None else "none below six rounds",
        ),
        _arm("H2", cell["baseline"]),
        _arm("H3", cell["candidate"]),
        _figure(
            "A/A floor",
            f"±{cell['aa_floor_pct']:.1f}{NBSP}%" if cell.get("aa_floor_pct") is not None else DASH,
            "how far a client differs from itself" if cell.get("aa_floor_pct") is not None else "no A/A arm here",
        ),
        _figure(
            "Spread (KS)",
            f"p {p_text(cell['spread_p'])}" if cell.get("spread_p") is not None else DASH,
            "does one client vary more?",
        ),
    ]


def body(api: ApiClient, place: Place, cell: Json, arms: tuple[str, str], trials: Sequence[Json]) -> list[Any]:
    """Figures, proof, trials and commands."""
    if not trials:
        return [
            html.Div(
                "No trial of this cell is stored yet. The page fills by itself once a worker has begun with it.",
                className="lb-state",
                role="status",
            )
        ]
    profile = next((p for p in api.profiles() if p["name"] == cell["profile"]), None)
    return [
        html.Div(figures(place, cell, arms, trials), className="lb-deck"),
        html.Div([percentiles(cell), link_proof(cell, trials, profile)], className="lb-deck"),
        *(part for extra in EXTRA_SECTIONS if (part := extra(api, place, cell, trials)) is not None),
        trials_grid(place, trials),
        commands(cell, (api.cell(cell["cell_id"]) or {}).get("tc")),
    ]


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
    of = arm["n"] + arm["failures"]
    note = f"failed: {failed} of {of}" if failed else f"none of {plural(of, 'trial')} failed"
    return _figure(f"{name} median TTLB", ms(arm["median_ttlb_ms"]), note)


EXTRA_SECTIONS: tuple[Any, ...] = (page_loads.section, acks.section)
"""More sections of the page, each ``(api, place, cell, trials) -> component or None``."""

"""The figures of a cell's page, each in its card."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html

from dashboard.client import Json
from dashboard.figures.failures import failures_figure
from dashboard.figures.paired import paired_figure
from dashboard.figures.phases import explains_figure, explanation, stacked_figure
from dashboard.figures.spread import box_figure, counted, ecdf_figure, order_effect_pct, order_figure
from dashboard.formatting import signed_pct
from dashboard.pages.card import figure_card
from dashboard.pages.place import Place
from dashboard.pages.view import csv_href


def figures(place: Place, cell: Json, arms: tuple[str, str], trials: Sequence[Json]) -> list[html.Section]:
    """Pairs, what explains the difference, spread, order, failures."""
    scheme, csv = place.scheme, csv_href(place, "trials")
    n = {arm: len(counted(trials, arm)) for arm in arms}
    on = f"{n[arms[0]]} trials with H2, {n[arms[1]]} with H3, warm-up and trials out of tolerance left out."
    found = [
        figure_card(
            "pairs",
            "Round by round",
            paired_figure(trials, *arms, scheme),
            note="Both clients of a round are joined. Hollow: the warm-up, or out of tolerance. Cross: failed.",
            csv=csv,
        )
    ]
    phases = cell.get("phases")
    if phases:
        found += [
            figure_card(
                "phases",
                "Where the time goes",
                stacked_figure(phases, scheme),
                note=f"Medians over {phases['n']} rounds. TTLB = handshake + wait for the first byte + transfer.",
                csv=csv,
                height_px=250,
            ),
            figure_card(
                "explains",
                "What explains the difference",
                explains_figure(phases, scheme),
                note=explanation(phases),
                says=explanation(phases),
                csv=csv,
                height_px=250,
            ),
        ]
    found += [
        figure_card("ecdf", "Cumulative share of TTLB", ecdf_figure(trials, *arms, scheme=scheme), note=on, csv=csv),
        figure_card(
            "box",
            "Quartiles and every trial",
            box_figure(trials, *arms, scheme=scheme),
            note="Box: middle half. Line in it: median. Whiskers: up to 1.5 boxes.",
            csv=csv,
        ),
        figure_card(
            "order",
            "Does the place in the round matter?",
            order_figure(trials, *arms, scheme),
            note=_order(trials, arms),
            csv=csv,
        ),
    ]
    if any(t["outcome"] != "ok" for t in trials):
        found.append(
            figure_card(
                "failures",
                "Failures by kind",
                failures_figure(trials, scheme),
                note="Failures are data: stored, counted, never tried again until one succeeds.",
                csv=csv,
                height_px=240,
            )
        )
    return found


def _order(trials: Sequence[Json], arms: tuple[str, str]) -> str:
    effect = order_effect_pct(trials, *arms)
    why = "Order is drawn at random in each round, so that a place can favour nobody."
    return why if effect is None else f"Last against first place: {signed_pct(effect)} of TTLB. {why}"

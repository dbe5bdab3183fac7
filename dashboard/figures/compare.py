"""Two campaigns: how much slower each client became in each cell, with intervals and the tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import Palette, blend, palette
from dashboard.figures.style import around_zero, axis, layout
from dashboard.formatting import ms, signed_pct

SYMBOLS = {"fail": "x", "inconclusive": "circle-open", "pass": "circle"}
"""So that verdicts differ without colour."""
ROW_PX = 32
"""Height of a row, whose name has two lines: so that it leaves room for the picture on a telephone."""
MOST = 40
"""Rows drawn; the table has all."""


def compare_figure(items: Sequence[Json], tolerance_pct: float, scheme: str = "light") -> go.Figure:
    """Difference of each item in percent with its interval, worst first; the shaded part passes."""
    pal = palette(scheme)
    shown = [item for item in ordered(items) if item["diff_pct"] is not None][:MOST]
    figure = go.Figure()
    for verdict in ("fail", "inconclusive", "pass"):
        mine = [(y, item) for y, item in enumerate(shown) if item["verdict"] == verdict]
        figure.add_trace(
            go.Scatter(
                name=verdict,
                x=[item["diff_pct"] for _, item in mine],
                y=[y for y, _ in mine],
                mode="markers",
                marker={"size": 11, "symbol": SYMBOLS[verdict], "color": colour(verdict, pal), "line": {"width": 2}},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [_reach(item, "ci_high_pct") for _, item in mine],
                    "arrayminus": [_reach(item, "ci_low_pct") for _, item in mine],
                    "color": pal.muted,
                    "thickness": 1.6,
                },
                text=[_hover(item) for _, item in mine],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    figure.update_layout(
        layout(
            pal,
            height=figure_height(items),
            xaxis=axis(
                pal,
                "Change of TTLB (%)",
                zerolinecolor=pal.muted,
                **around_zero(
                    [item[key] for item in shown for key in ("diff_pct", "ci_low_pct", "ci_high_pct")],
                    least=2 * tolerance_pct,
                ),
            ),
            yaxis=axis(
                pal,
                "",
                tickvals=list(range(len(shown))),
                ticktext=[name(item).replace(", ", "<br>", 1) for item in shown],
                range=[len(shown) - 0.4, -0.6],
                showgrid=False,
            ),
            shapes=[
                {
                    "type": "rect", "xref": "x", "yref": "paper", "x0": -tolerance_pct, "x1": tolerance_pct, "y0": 0,
                    "y1": 1, "line": {"width": 0}, "fillcolor": blend(pal.muted, pal.surface, 0.85), "layer": "below",
                }
            ],
        )
    )  # fmt: skip
    return figure


def ordered(items: Sequence[Json]) -> list[Json]:
    """Failing first, then unclear ones, then those that pass; within each the worst first."""
    rank = {"fail": 0, "inconclusive": 1, "pass": 2}
    return sorted(items, key=lambda i: (rank[i["verdict"]], -(i["diff_pct"] if i["diff_pct"] is not None else -1e9)))


def figure_height(items: Sequence[Json]) -> int:
    """Height in px."""
    return 120 + ROW_PX * min(MOST, sum(item["diff_pct"] is not None for item in items))


def colour(verdict: str, pal: Palette) -> str:
    """Of a verdict."""
    return {"fail": pal.alert, "inconclusive": pal.muted, "pass": pal.series[2]}[verdict]


def name(item: Json) -> str:
    """Cell and client in a line."""
    return f"{item['endpoint']}, {item['profile']}, {item['client']}"


def _reach(item: Json, end: str) -> float:
    return abs(item[end] - item["diff_pct"]) if item[end] is not None else 0.0


def _hover(item: Json) -> str:
    return (
        f"<b>{escape(name(item))}</b><br>{signed_pct(item['diff_pct'])}: {item['verdict']}<br>"
        f"{ms(item['baseline']['median_ttlb_ms'])} (n = {item['baseline']['n']}) → "
        f"{ms(item['candidate']['median_ttlb_ms'])} (n = {item['candidate']['n']})<br>{escape(item['reason'])}"
    )

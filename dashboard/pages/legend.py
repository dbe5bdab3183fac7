"""The legend of the heatmaps, in words."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html

from dashboard.client import Json
from dashboard.figures.heatmap import clip_pct
from dashboard.figures.palette import palette
from dashboard.formatting import MINUS, NBSP
from dashboard.words import EXPLANATIONS

MARKED = (
    ("equivalent", "= equivalent"),
    ("below floor", "~ within the noise (A/A)"),
    ("inconclusive", "? inconclusive"),
    ("unproven", "! unproven"),
    ("failing", "✕ failing"),
    ("pending", "not measured yet"),
)


def legend(scheme: str, mode: str, cells: Sequence[tuple[str, Json]]) -> html.Div:
    """Colour scale from H3 faster to H3 slower, and every mark with its word."""
    pal = palette(scheme)
    clip = clip_pct([cell for _, cell in cells], mode)
    stops = ", ".join(f"{colour} {(at + 1) * 50:g}%" for at, colour in pal.scale)
    marks = MARKED if mode == "lastbyte" else [item for item in MARKED if item[0] in ("unproven", "failing", "pending")]
    note = (
        "TTLB of H3 against H2, median of paired rounds, with its 95 % interval under it. n counts the rounds."
        if mode == "lastbyte"
        else "Best H3 client against best H2 client of each cell."
    )
    return html.Div(
        [
            html.Div(
                [
                    html.Span("H3 faster", className="lb-legend-word"),
                    html.Div(
                        [
                            html.Div(
                                className="lb-legend-bar", style={"background": f"linear-gradient(90deg, {stops})"}
                            ),
                            html.Div(
                                [html.Span(t) for t in (f"{MINUS}{clip:g}{NBSP}%", "0", f"+{clip:g}{NBSP}%")],
                                className="lb-legend-ticks",
                            ),
                        ]
                    ),
                    html.Span("H3 slower", className="lb-legend-word"),
                ],
                className="lb-legend-scale",
            ),
            html.Ul(
                [
                    html.Li(
                        [html.Span(className=f"lb-swatch lb-swatch-{kind.replace(' ', '-')}"), html.Span(word)],
                        title=EXPLANATIONS[kind],
                    )
                    for kind, word in marks
                ],
                className="lb-legend-marks",
            ),
            html.P(f"{note} Colour stops at ±{clip:g}{NBSP}%; the numbers do not.", className="lb-legend-note"),
        ],
        className="lb-legend",
    )

"""The legend of the heatmaps, in words."""

from __future__ import annotations

from dash import html

from dashboard.figures.palette import CLIP_PCT, palette
from dashboard.formatting import MINUS
from dashboard.words import EXPLANATIONS

MARKED = (
    ("equivalent", "= equivalent"),
    ("inconclusive", "? inconclusive"),
    ("unproven", "! unproven"),
    ("failing", "✕ failing"),
    ("pending", "not measured yet"),
)


def legend(scheme: str) -> html.Div:
    """Colour scale from H3 faster to H3 slower, and every mark with its word."""
    pal = palette(scheme)
    stops = ", ".join(f"{colour} {(at + 1) * 50:g}%" for at, colour in pal.scale)
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
                                [html.Span(text) for text in (f"{MINUS}{CLIP_PCT:g} %", "0", f"+{CLIP_PCT:g} %")],
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
                        [html.Span(className=f"lb-swatch lb-swatch-{kind}"), html.Span(word)],
                        title=EXPLANATIONS[kind],
                    )
                    for kind, word in MARKED
                ],
                className="lb-legend-marks",
            ),
            html.P(
                f"TTLB of H3 against H2, median of paired rounds, with its 95 % interval. Colour stops at "
                f"±{CLIP_PCT:g} %; the numbers do not.",
                className="lb-legend-note",
            ),
        ],
        className="lb-legend",
    )

"""Where the time goes: handshake, wait and transfer of both clients, and each phase's part of the difference."""

from __future__ import annotations

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import legible_on, palette
from dashboard.figures.style import LEGEND, around_zero, axis, layout
from dashboard.formatting import MINUS, ms

NAMES = {"handshake": "Handshake", "wait": "Wait for the first byte", "transfer": "Transfer"}
PATTERNS = ("", "/", ".")
"""So that the phases differ without colour."""


def stacked_figure(phases: Json, scheme: str = "light") -> go.Figure:
    """Medians of the phases of both clients as stacked bars, in ms."""
    pal = palette(scheme)
    figure = go.Figure()
    for phase, colour, pattern in zip(phases["phases"], pal.phases, PATTERNS, strict=False):
        values = [phase["baseline_ms"], phase["candidate_ms"]]
        figure.add_trace(
            go.Bar(
                name=NAMES.get(phase["phase"], phase["phase"]),
                y=["H2", "H3"],
                x=values,
                orientation="h",
                marker={
                    "color": colour,
                    "pattern": {"shape": pattern, "fgcolor": pal.surface, "fgopacity": 0.35, "size": 6},
                },
                text=[ms(v) for v in values],
                textposition="inside",
                insidetextanchor="middle",
                textfont={"color": legible_on(colour)},
                hovertemplate="<b>%{y}</b>, "
                + NAMES.get(phase["phase"], phase["phase"])
                + ": %{x:,.1f} ms<extra></extra>",
            )
        )
    figure.update_layout(
        layout(
            pal,
            barmode="stack",
            legend={**LEGEND, "traceorder": "normal"},
            bargap=0.35,
            xaxis=axis(pal, "Median time (ms)", rangemode="tozero"),
            yaxis=axis(pal, "", autorange="reversed"),
        )
    )
    return figure


def explains_figure(phases: Json, scheme: str = "light") -> go.Figure:
    """Each phase's median difference H3 less H2 with its interval, and the total's, in ms."""
    pal = palette(scheme)
    rows = [*phases["phases"], {**phases["total"], "phase": "total"}]
    names = [NAMES.get(row["phase"], "Total (TTLB)") for row in rows]
    figure = go.Figure(
        go.Scatter(
            name="H3 less H2",
            x=[row["diff_ms"] for row in rows],
            y=names,
            mode="markers+text",
            marker={
                "size": 12,
                "symbol": ["circle"] * (len(rows) - 1) + ["diamond"],
                "color": [
                    pal.h2 if row["ci_low_ms"] > 0 else pal.h3 if row["ci_high_ms"] < 0 else pal.muted for row in rows
                ],
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row["ci_high_ms"] - row["diff_ms"] for row in rows],
                "arrayminus": [row["diff_ms"] - row["ci_low_ms"] for row in rows],
                "color": pal.muted,
                "thickness": 1.6,
            },
            text=[f"{'+' if row['diff_ms'] > 0 else MINUS}{ms(abs(row['diff_ms']))}" for row in rows],
            textposition="top center",
            hovertemplate="<b>%{y}</b>: %{text}<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_layout(
        layout(
            pal,
            xaxis=axis(
                pal,
                "H3 less H2 (ms), left: H3 faster",
                zerolinecolor=pal.muted,
                **around_zero([row[key] for row in rows for key in ("diff_ms", "ci_low_ms", "ci_high_ms")], room=1.3),
            ),
            yaxis=axis(pal, "", range=[len(rows) - 0.5, -0.8]),
        )
    )
    return figure


def explanation(phases: Json) -> str:
    """Which phase explains the difference, in a sentence."""
    total = phases["total"]
    direction = "slower" if total["diff_ms"] > 0 else "faster"
    if not phases["explains"]:
        return (
            "No single phase explains the difference: either it is not certain, or different rounds lost time in "
            f"different places (left over: {ms(abs(phases['residual_ms']))})."
        )
    found = next(p for p in phases["phases"] if p["phase"] == phases["explains"])
    share = f" ({found['of_total_pct']:.0f} % of it)" if found["of_total_pct"] is not None else ""
    return (
        f"H3 is {ms(abs(total['diff_ms']))} {direction}; the {found['phase']} explains "
        f"{ms(abs(found['diff_ms']))}{share}. Medians do not add up exactly: {ms(abs(phases['residual_ms']))} is left."
    )

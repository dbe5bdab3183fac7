"""Acknowledged bytes over time: a dot for each acknowledgement that the client sent, H2 and H3 in one picture."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import Palette, blend, palette
from dashboard.figures.style import axis, layout
from dashboard.formatting import number

KB = 1000
_SYMBOLS = {"h2": ("square", "diamond", "hexagon"), "h3": ("circle", "triangle-up", "pentagon")}
_FADE = 0.35
"""How much a further client of a protocol is faded, each time."""
_MAX_SVG_POINTS = 20_000
"""More dots than this are drawn by WebGL."""


def acks_figure(trials: Sequence[Json], scheme: str = "light") -> go.Figure:
    """KB acknowledged over milliseconds from the first packet, for trials as ``GET /cells/{id}/acks`` gives them.

    Trials without a trace are left out. Crosses: data that had to be sent again. Thick bars: stalls.
    """
    pal = palette(scheme)
    drawn = [trial for trial in trials if trial["trace"]]
    styles = _styles(drawn, pal)
    scatter = go.Scattergl if sum(len(t["trace"]["at_ms"]) for t in drawn) > _MAX_SVG_POINTS else go.Scatter
    figure = go.Figure()
    for trial in drawn:
        colour, symbol = styles[trial["client"]]
        trace, name = trial["trace"], label(trial)
        figure.add_trace(
            scatter(
                x=trace["at_ms"],
                y=[acked / KB for acked in trace["acked_bytes"]],
                mode="lines+markers",
                name=name,
                legendgroup=name,
                line={"color": colour, "width": 1},
                marker={"color": colour, "symbol": symbol, "size": 4},
                hovertemplate=f"{name}<br>%{{x:.1f}} ms: %{{y:,.1f}} KB acknowledged<extra></extra>",
            )
        )
    for trial in drawn:
        figure.add_trace(_sent_again(trial, styles[trial["client"]][0]))
        figure.add_trace(_stalls(trial, pal))
    return figure.update_layout(
        layout(
            pal,
            xaxis=axis(pal, "Since the first packet (ms)", rangemode="tozero", tickformat=",~f"),
            yaxis=axis(pal, "Acknowledged by the client (KB)", rangemode="tozero", tickformat=",~f"),
            legend={
                "orientation": "h",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
                "xanchor": "left",
                "itemsizing": "constant",
            },
        )
    )


def label(trial: Json) -> str:
    """A trial as it is called in the legend."""
    which = f", capture {-trial['round']}" if trial["round"] < -1 else ""
    return f"{trial['protocol'].upper()} ({trial['client']}{which})"


def summary(trials: Sequence[Json]) -> str:
    """The picture in words, for those who can't see it."""
    parts = []
    for trial in trials:
        found = trial["figures"]
        if found:
            stalls = len(found["stalls"])
            stalled = f"{stalls} stalls of {number(round(found['stalled_ms']))} ms" if stalls else "no stalls"
            parts.append(
                f"{label(trial)}: {found['acked_bytes'] / KB:,.0f} KB in {found['last_ms']:,.0f} ms, {stalled}"
            )
    return "; ".join(parts)


def _styles(trials: Sequence[Json], pal: Palette) -> dict[str, tuple[str, str]]:
    """Colour and symbol per client: red squares for H2, blue circles for H3, others of a protocol paler and apart."""
    styles: dict[str, tuple[str, str]] = {}
    seen = {"h2": 0, "h3": 0}
    for trial in trials:
        if trial["client"] in styles:
            continue
        protocol = trial["protocol"]
        base = pal.h2 if protocol == "h2" else pal.h3
        symbols, place = _SYMBOLS[protocol], seen[protocol]
        styles[trial["client"]] = (blend(base, pal.muted, min(0.8, place * _FADE)), symbols[place % len(symbols)])
        seen[protocol] += 1
    return styles


def _sent_again(trial: Json, colour: str) -> go.Scatter:
    trace, name = trial["trace"], label(trial)
    pieces = trace["retransmitted"]
    levels = [_level(trace, piece["at_ms"]) for piece in pieces]
    return go.Scatter(
        x=[piece["at_ms"] for piece in pieces],
        y=levels,
        customdata=[piece["byte_count"] / KB for piece in pieces],
        mode="markers",
        name=f"{name}, sent again",
        legendgroup=name,
        showlegend=False,
        marker={"symbol": "x-thin", "size": 9, "line": {"color": colour, "width": 1.6}},
        hovertemplate=f"{name}<br>%{{x:.1f}} ms: %{{customdata:.1f}} KB sent again came<extra></extra>",
    )


def _stalls(trial: Json, pal: Palette) -> go.Scatter:
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str] = []
    name = label(trial)
    for stall in trial["figures"]["stalls"]:
        x += [stall["start_ms"], stall["end_ms"], None]
        y += [stall["acked_bytes"] / KB] * 2 + [None]
        text += [f"{name}<br>stall of {stall['end_ms'] - stall['start_ms']:,.0f} ms"] * 3
    return go.Scatter(
        x=x,
        y=y,
        text=text,
        mode="lines",
        name=f"{name}, stalls",
        legendgroup=name,
        showlegend=False,
        line={"color": blend(pal.alert, pal.surface, 0.35), "width": 7},
        hovertemplate="%{text}<extra></extra>",
    )


def _level(trace: Json, at_ms: float) -> float:
    """KB acknowledged at a moment."""
    place = bisect_right(trace["at_ms"], at_ms) - 1
    return float(trace["acked_bytes"][place]) / KB if place >= 0 else 0.0

"""Trials of one cell, round by round: what each pair says before any statistic."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import Palette, blend, palette
from dashboard.figures.style import axis, layout
from dashboard.formatting import ms


def paired_figure(trials: Sequence[Json], baseline: str, candidate: str, scheme: str = "light") -> go.Figure:
    """TTLB in ms by round for two clients, the two of a round joined by a line.

    The warm-up round is drawn hollow at round 0; a failed trial is a cross on the upper edge.
    """
    pal = palette(scheme)
    arms = ((baseline, "H2", pal.h2, "square"), (candidate, "H3", pal.h3, "circle"))
    last = max((t["round"] for t in trials), default=1)
    figure = go.Figure([_links(trials, baseline, candidate, pal)])
    for client, name, colour, symbol in arms:
        mine = [t for t in trials if t["client"] == client and not t["capture"]]
        delivered = [t for t in mine if t["outcome"] == "ok"]
        figure.add_trace(_points([t for t in delivered if not t["warmup"]], f"{name} ({client})", name, colour, symbol))
        warmup = _points([t for t in delivered if t["warmup"]], f"{name} warm-up", name, colour, f"{symbol}-open")
        figure.add_trace(warmup.update(showlegend=False))
    # After the others: what the legend hides is kept by the place of a trace, and failures may come later.
    for client, name, colour, _ in arms:
        failed = [t for t in trials if t["client"] == client and not t["capture"] and t["outcome"] != "ok"]
        if failed:
            figure.add_trace(_crosses(failed, name, colour))
    figure.update_layout(
        layout(
            pal,
            xaxis=axis(
                pal,
                "Round (0 is the warm-up, not counted)",
                showgrid=False,  # its lines would lie under those that join the pairs
                autorangeoptions={"include": [0, last]},
                dtick=1 if last <= 20 else None,
            ),
            yaxis=axis(pal, "TTLB (ms)"),
            yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        )
    )
    return figure


def _links(trials: Sequence[Json], baseline: str, candidate: str, pal: Palette) -> go.Scatter:
    by_arm = {(t["client"], t["round"]): t["ttlb_ms"] for t in trials if t["outcome"] == "ok"}
    xs: list[int | None] = []
    ys: list[float | None] = []
    for number in sorted({t["round"] for t in trials}):
        pair = [by_arm.get((client, number)) for client in (baseline, candidate)]
        if None not in pair:
            xs += [number, number, None]
            ys += [*pair, None]
    return go.Scatter(
        name="pairs",
        x=xs,
        y=ys,
        mode="lines",
        line={"width": 1.5, "color": blend(pal.muted, pal.surface, 0.4)},
        hoverinfo="skip",
        showlegend=False,
    )


def _points(trials: Sequence[Json], label: str, name: str, colour: str, symbol: str) -> go.Scatter:
    return go.Scatter(
        name=label,
        x=[t["round"] for t in trials],
        y=[t["ttlb_ms"] for t in trials],
        mode="markers",
        marker={"size": 9, "color": colour, "symbol": symbol},
        text=[_phases(t) for t in trials],
        hovertemplate=f"<b>{name}</b>, round %{{x}}<br>%{{text}}<extra></extra>",
    )


def _crosses(trials: Sequence[Json], name: str, colour: str) -> go.Scatter:
    return go.Scatter(
        name=f"{name} failed",
        x=[t["round"] for t in trials],
        y=[0.97] * len(trials),
        yaxis="y2",
        mode="markers",
        marker={"size": 10, "color": colour, "symbol": "x-thin-open", "line": {"width": 2}},
        text=[t["outcome"] for t in trials],
        hovertemplate=f"<b>{name}</b>, round %{{x}}<br>failed: %{{text}}<extra></extra>",
    )


def _phases(trial: Json) -> str:
    return (
        f"TTLB {ms(trial['ttlb_ms'])}<br>handshake {ms(trial['handshake_ms'])}, "
        f"first byte {ms(trial['ttfb_ms'])}" + ("<br>warm-up, not counted" if trial["warmup"] else "")
    )

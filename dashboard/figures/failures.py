"""Failures by kind and client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import palette
from dashboard.figures.style import axis, layout


def failures_figure(trials: Sequence[Json], scheme: str = "light") -> go.Figure:
    """Number of failed trials, one bar per client and kind; the warm-up counts too."""
    pal = palette(scheme)
    failed = [t for t in trials if t["outcome"] != "ok"]
    kinds = [kind for kind, _ in Counter(t["outcome"] for t in failed).most_common()]
    counts = Counter((t["client"], t["outcome"]) for t in failed)
    figure = go.Figure()
    others = iter(pal.series)
    for client in sorted({t["client"] for t in trials}):
        colour = pal.h3 if client.endswith("-h3") else pal.h2 if client.endswith("-h2") else next(others, pal.muted)
        values = [counts[client, kind] for kind in kinds]
        if any(values):
            figure.add_trace(
                go.Bar(
                    name=client,
                    y=kinds,
                    x=values,
                    orientation="h",
                    marker={
                        "color": colour,
                        "pattern": {"shape": "" if client.endswith("-h3") else "/", "fgopacity": 0.4},
                    },
                    hovertemplate=f"<b>{client}</b>: %{{x}} %{{y}}<extra></extra>",
                )
            )
    figure.update_layout(
        layout(
            pal,
            barmode="group",
            xaxis=axis(pal, "Failed trials", rangemode="tozero", tickformat="d"),
            yaxis=axis(pal, "", autorange="reversed"),
        )
    )
    return figure

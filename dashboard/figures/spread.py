"""How the times of one cell are spread: cumulative shares, and boxes with every point."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import Palette, palette
from dashboard.figures.style import axis, layout

MEASURES = {"ttlb_ms": "TTLB (ms)", "handshake_ms": "Handshake (ms)", "ttfb_ms": "Time to first byte (ms)"}


def counted(trials: Sequence[Json], client: str) -> list[Json]:
    """The trials of a client that enter the comparison: no warm-up, no failure, nothing out of tolerance."""
    return [
        t
        for t in trials
        if t["client"] == client
        and t["outcome"] == "ok"
        and not (t["warmup"] or t["capture"] or t.get("unproven_reason"))
    ]


def ecdf_figure(
    trials: Sequence[Json], baseline: str, candidate: str, measure: str = "ttlb_ms", scheme: str = "light"
) -> go.Figure:
    """Share of the counted trials that took at most so long, as steps."""
    pal = palette(scheme)
    figure = go.Figure()
    for client, name, colour, dash in _arms(baseline, candidate, pal):
        times = sorted(t[measure] for t in counted(trials, client) if t[measure] is not None)
        share = [100 * (i + 1) / len(times) for i in range(len(times))]
        figure.add_trace(
            go.Scatter(
                name=f"{name} ({client})",
                x=[*times[:1], *times],
                y=[0, *share] if times else [],
                mode="lines",
                line={"color": colour, "width": 2, "shape": "hv", "dash": dash},
                hovertemplate=f"<b>{name}</b>: %{{y:.0f}} % took at most %{{x:,.1f}} ms<extra></extra>",
            )
        )
    figure.update_layout(
        layout(
            pal,
            xaxis=axis(pal, MEASURES[measure]),
            yaxis=axis(pal, "Trials that took at most so long (%)", range=[0, 102]),
        )
    )
    return figure


def box_figure(
    trials: Sequence[Json], baseline: str, candidate: str, measure: str = "ttlb_ms", scheme: str = "light"
) -> go.Figure:
    """A box per client (quartiles, whiskers to 1.5 times their distance) with each counted trial beside it."""
    pal = palette(scheme)
    figure = go.Figure()
    for client, name, colour, _ in _arms(baseline, candidate, pal):
        mine = [t for t in counted(trials, client) if t[measure] is not None]
        figure.add_trace(
            go.Box(
                name=name,
                x=[t[measure] for t in mine],
                text=[f"round {t['round']}" for t in mine],
                orientation="h",
                boxpoints="all",
                jitter=0.5,
                pointpos=-1.6,
                marker={"color": colour, "size": 5, "opacity": 0.75},
                line={"color": colour, "width": 1.6},
                hovertemplate=f"<b>{name}</b>, %{{text}}: %{{x:,.1f}} ms<extra></extra>",
                showlegend=False,
            )
        )
    figure.update_layout(
        layout(pal, xaxis=axis(pal, MEASURES[measure]), yaxis=axis(pal, "", autorange="reversed"), boxgap=0.45)
    )
    return figure


def order_figure(trials: Sequence[Json], baseline: str, candidate: str, scheme: str = "light") -> go.Figure:
    """Does a client's place in the round matter? TTLB in percent of its own median, by place."""
    pal = palette(scheme)
    figure = go.Figure()
    places = sorted({t["position"] for t in trials})
    for client, name, colour, _ in _arms(baseline, candidate, pal):
        mine = [t for t in counted(trials, client) if t["ttlb_ms"]]
        middle = median([t["ttlb_ms"] for t in mine])
        figure.add_trace(
            go.Box(
                name=name,
                x=[t["position"] + 1 for t in mine],
                y=[100 * (t["ttlb_ms"] / middle - 1) for t in mine] if middle else [],
                text=[f"round {t['round']}" for t in mine],
                boxpoints="all",
                jitter=0.4,
                pointpos=0,
                marker={"color": colour, "size": 5},
                line={"color": colour, "width": 1.4},
                fillcolor="rgba(0,0,0,0)",
                hovertemplate=f"<b>{name}</b>, %{{text}}, place %{{x}}: %{{y:+.1f}} %<extra></extra>",
            )
        )
    figure.update_layout(
        layout(
            pal,
            boxmode="group",
            xaxis=axis(pal, "Place within the round", tickvals=[p + 1 for p in places]),
            yaxis=axis(pal, "TTLB against own median (%)", zeroline=True, zerolinecolor=pal.muted),
        )
    )
    return figure


def median(values: Sequence[float]) -> float | None:
    """The middle one; None of none."""
    ordered = sorted(values)
    n = len(ordered)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2 if n else None


def order_effect_pct(trials: Sequence[Json], baseline: str, candidate: str) -> float | None:
    """Median of both clients' TTLB (against their own medians) when last in the round less when first, in points.

    None where no client was counted in two places.
    """
    by_place: dict[int, list[float]] = {}
    for client in (baseline, candidate):
        mine = [t for t in counted(trials, client) if t["ttlb_ms"]]
        middle = median([t["ttlb_ms"] for t in mine])
        for t in mine:
            if middle:
                by_place.setdefault(t["position"], []).append(100 * (t["ttlb_ms"] / middle - 1))
    if len(by_place) < 2:
        return None
    first, last = (median(by_place[place]) for place in (min(by_place), max(by_place)))
    return None if first is None or last is None else last - first


def _arms(baseline: str, candidate: str, pal: Palette) -> tuple[tuple[str, str, str, str], ...]:
    return ((baseline, "H2", pal.h2, "dash"), (candidate, "H3", pal.h3, "solid"))

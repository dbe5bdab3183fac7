"""H3 clients side by side: percent over the best of each cell, one grid per condition, as in the papers.

Under each number a whisker shows the interval of the paired difference to the best: zero in the middle of the square,
the ends of the colour scale at its sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import FONT, legible_on, palette, sequential
from dashboard.formatting import DASH, interval, signed_pct, size_label
from dashboard.words import FEW_ROUNDS
from lastbyte.domain.endpoint import size_order

REACH = 0.42
"""From the middle of a square to where a whisker is cut off, in squares."""
NUMBER_Y, WHISKER_Y, TICK = -0.16, 0.27, 0.13
"""Where number and whisker stand in a square, and half the height of the tick at zero; downwards, in squares."""
SQUARE_PX = 62


@dataclass(frozen=True, slots=True)
class Grid:
    """One condition: clients as rows, provider and size as columns."""

    profile: str
    condition: str
    clients: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]
    """Provider, size label, endpoint."""
    cells: dict[tuple[str, str], Json]
    """By client and endpoint."""


def grids(comparison: Json) -> list[Grid]:
    """One per profile, in order of loss, delay and rate."""
    by_profile: dict[str, list[tuple[str, Json]]] = {}
    for provider in comparison["providers"]:
        for cell in provider["cells"]:
            by_profile.setdefault(cell["profile"], []).append((provider["provider"], cell))
    ordered = sorted(by_profile.items(), key=lambda item: _order(item[1][0][1]))
    return [_grid(profile, cells, comparison["clients"]) for profile, cells in ordered]


def _order(cell: Json) -> tuple[float, float, float]:
    return cell["loss_pct"], cell["extra_rtt_ms"], cell["rate_mbit_s"] or 0.0


def _grid(profile: str, cells: Sequence[tuple[str, Json]], clients: Sequence[str]) -> Grid:
    first = cells[0][1]
    rate = f"{first['rate_mbit_s']:g} Mbit/s" if first["rate_mbit_s"] is not None else "rate not shaped"
    columns = sorted(
        {(provider, cell["size_label"], cell["endpoint"]) for provider, cell in cells},
        key=lambda c: (c[0], size_order(c[1]), c[2]),
    )
    return Grid(
        profile,
        f"{first['loss_pct']:g} % extra loss, {first['extra_rtt_ms']:g} ms extra RTT, {rate}",
        tuple(c for c in clients if any(f["client"] == c for _, cell in cells for f in cell["clients"])),
        tuple(columns),
        {
            (found["client"], cell["endpoint"]): {**found, "cell": cell}
            for _, cell in cells
            for found in cell["clients"]
        },
    )


def clients_figure(grid: Grid, limit_pct: float, scheme: str = "light") -> go.Figure:
    """Percent over the best client of each column: white for the best, red from ``limit_pct`` on."""
    pal = palette(scheme)
    xs, ys = range(len(grid.columns)), range(len(grid.clients))
    found = {
        (x, y): grid.cells[client, endpoint]
        for y, client in enumerate(grid.clients)
        for x, (_, _, endpoint) in enumerate(grid.columns)
        if (client, endpoint) in grid.cells
    }
    best = {(x, y) for (x, y), item in found.items() if item["cell"]["best"] == item["client"]}
    colours = {place: sequential(pal, item["value_pct"] or 0.0, limit_pct) for place, item in found.items()}
    texts = {place: _text(item, place in best) for place, item in found.items()}
    steps = [i / 20 for i in range(21)]
    traces = [
        go.Heatmap(
            name="over the best",
            x=list(xs),
            y=list(ys),
            z=[[(found[x, y]["value_pct"] or 0.0) if (x, y) in found else None for x in xs] for y in ys],
            hovertext=[[_hover(grid, found.get((x, y)), x) for x in xs] for y in ys],
            hoverinfo="text",
            hoverongaps=False,
            zmin=0,
            zmax=limit_pct,
            colorscale=[(step, sequential(pal, step * limit_pct, limit_pct)) for step in steps],
            showscale=False,
            xgap=4,
            ygap=4,
        ),
        go.Scatter(
            name="numbers",
            x=[x for x, _ in found],
            y=[place[1] + (0 if place in best else NUMBER_Y) for place in found],
            mode="text",
            text=[texts[place] for place in found],
            textfont={"size": 13, "family": FONT, "color": [legible_on(colours[place]) for place in found]},
            hoverinfo="skip",
        ),
    ]
    known = {
        place: Whisker.of(place, item, limit_pct)
        for place, item in found.items()
        if item["ci_low_pct"] is not None or item["ci_high_pct"] is not None
    }
    for ink in dict.fromkeys(legible_on(colours[place]) for place in known):
        traces += list(_whiskers([known[place] for place in known if legible_on(colours[place]) == ink], ink))
    return go.Figure(traces, _layout(grid, scheme))


@dataclass(frozen=True, slots=True)
class Whisker:
    """An interval as it is drawn in a square; all in squares."""

    x: float
    """The middle of the square, where zero is."""
    y: float
    low: float
    high: float
    median: float | None
    cut: tuple[bool, bool]
    """Whether the interval goes on beyond what is drawn, to the left and to the right."""

    @classmethod
    def of(cls, place: tuple[int, int], item: Json, limit_pct: float) -> Whisker:
        """Of a client in a cell; an open end goes on."""
        low, high, median = (item[key] for key in ("ci_low_pct", "ci_high_pct", "paired_pct"))
        ends = (-limit_pct if low is None else low, limit_pct if high is None else high)
        at = [max(-1.0, min(1.0, value / limit_pct)) * REACH for value in ends]
        middle = None if median is None or abs(median) > limit_pct else median / limit_pct * REACH
        cut = (low is None or low < -limit_pct, high is None or high > limit_pct)
        return cls(place[0], place[1] + WHISKER_Y, at[0], at[1], middle, cut)


def _whiskers(whiskers: Sequence[Whisker], ink: str) -> Iterator[go.Scatter]:
    """Lines, medians and cut ends in one colour."""
    bars: tuple[list[float | None], list[float | None]] = ([], [])
    ticks: tuple[list[float | None], list[float | None]] = ([], [])
    for w in whiskers:
        bars[0].extend((w.x + w.low, w.x + w.high, None))
        bars[1].extend((w.y, w.y, None))
        ticks[0].extend((w.x, w.x, None))
        ticks[1].extend((w.y - TICK, w.y + TICK, None))
    marks = [(w.x + w.median, w.y, "circle") for w in whiskers if w.median is not None]
    marks += [(w.x + w.low, w.y, "triangle-left") for w in whiskers if w.cut[0]]
    marks += [(w.x + w.high, w.y, "triangle-right") for w in whiskers if w.cut[1]]
    line = {"color": ink, "width": 2}
    yield go.Scatter(name="intervals", x=bars[0], y=bars[1], mode="lines", line=line, hoverinfo="skip")
    yield go.Scatter(name="zero", x=ticks[0], y=ticks[1], mode="lines", line={**line, "width": 1}, hoverinfo="skip")
    yield go.Scatter(
        name="medians",
        x=[x for x, _, _ in marks],
        y=[y for _, y, _ in marks],
        mode="markers",
        marker={"size": 7, "color": ink, "symbol": [symbol for _, _, symbol in marks]},
        hoverinfo="skip",
    )


def doubtful(item: Json) -> bool:
    """Whether the definition finds no difference to the best: our interval holds zero, or the paper's test says so."""
    if item["shown_pct"] == 0 and item["value_pct"]:
        return True
    low, high = item["ci_low_pct"], item["ci_high_pct"]
    return (item["paired_n"] or 0) < FEW_ROUNDS or ((low is None or low <= 0) and (high is None or high >= 0))


def _text(item: Json, best: bool) -> str:  # noqa: FBT001 - two kinds of square
    if best:
        return "<b>best</b>"
    if item["value_pct"] is None:
        return f"{DASH} ?"
    return signed_pct(item["value_pct"]) + (" ?" if doubtful(item) else "")


def _hover(grid: Grid, item: Json | None, x: int) -> str:
    if item is None:
        return ""
    provider, size, _ = grid.columns[x]
    best = item["cell"]["best"]
    lines = [f"<b>{item['client']}</b>, {provider}, {size_label(size)}"]
    if item["client"] == best:
        lines.append(f"The best of this cell, n = {item['n']}")
    else:
        value = signed_pct(item["value_pct"]) if item["value_pct"] is not None else "left open by time-outs:"
        lines.append(f"{value} over {best}, n = {item['n']}")
        lines += _paired_line(item)
        lines += [f"p = {item['p_value']:.2g}"] if item["p_value"] is not None else []
    if item["cell"].get("unproven_reason"):
        lines.append(f"Unproven: {item['cell']['unproven_reason']}")
    return "<br>".join(lines)


def _paired_line(item: Json) -> list[str]:
    if not item["paired_n"]:
        return []
    low, high = item["ci_low_pct"], item["ci_high_pct"]
    median = signed_pct(item["paired_pct"]) if item["paired_pct"] is not None else "open"
    level = f"{100 * item['confidence']:.4g} % interval"
    if low is None and high is None:
        bounds = f"no {level}"
    elif low is None or high is None:
        bounds = f"{level} from {signed_pct(low)}" if high is None else f"{level} up to {signed_pct(high)}"
    else:
        bounds = f"{level} {interval(low, high)} %"
    return [f"Round by round: {median} ({bounds}, {item['paired_n']} pairs)"]


def figure_height(grid: Grid) -> int:
    """Height in px."""
    return 74 + SQUARE_PX * len(grid.clients)


def figure_width(grid: Grid) -> int:
    """The least width in px at which the numbers fit."""
    return 138 + 84 * len(grid.columns)


def _layout(grid: Grid, scheme: str) -> Json:
    pal = palette(scheme)
    return {
        "height": figure_height(grid),
        "margin": {"l": 130, "r": 8, "t": 8, "b": 58},
        "paper_bgcolor": pal.surface,
        "plot_bgcolor": pal.surface,
        "font": {"family": FONT, "color": pal.text, "size": 12},
        "hoverlabel": {"bgcolor": pal.hover, "bordercolor": pal.muted, "align": "left", "font": {"color": pal.text}},
        "uirevision": "keep",
        "dragmode": False,
        "showlegend": False,
        "xaxis": {
            "range": [-0.5, len(grid.columns) - 0.5],
            "tickvals": list(range(len(grid.columns))),
            "ticktext": [
                f"{size_label(size)}<br>{provider.replace('-', '-<br>', 1)}" for provider, size, _ in grid.columns
            ],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "tickangle": 0,
        },
        "yaxis": {
            "tickvals": list(range(len(grid.clients))),
            "ticktext": list(grid.clients),
            "range": [len(grid.clients) - 0.5, -0.5],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
    }

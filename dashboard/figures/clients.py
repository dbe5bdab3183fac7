"""H3 clients side by side: percent over the best of each cell, one grid per condition, as in the papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import FONT, legible_on, palette, sequential
from dashboard.formatting import NBSP, size_label
from lastbyte.domain.endpoint import size_order


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
    colours = {place: sequential(pal, item["value_pct"], limit_pct) for place, item in found.items()}
    texts = {place: _text(item, place in best) for place, item in found.items()}
    steps = [i / 20 for i in range(21)]
    traces = [
        go.Heatmap(
            name="over the best",
            x=list(xs),
            y=list(ys),
            z=[[found[x, y]["value_pct"] if (x, y) in found else None for x in xs] for y in ys],
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
            y=[y for _, y in found],
            mode="text",
            text=[texts[place] for place in found],
            textfont={"size": 13, "family": FONT, "color": [legible_on(colours[place]) for place in found]},
            hoverinfo="skip",
        ),
    ]
    return go.Figure(traces, _layout(grid, scheme))


def _text(item: Json, best: bool) -> str:  # noqa: FBT001 - two kinds of square
    if best:
        return "<b>best</b>"
    doubt = "" if item["shown_pct"] or not item["value_pct"] else " ?"
    return f"+{item['value_pct']:.1f}{NBSP}%{doubt}"


def _hover(grid: Grid, item: Json | None, x: int) -> str:
    if item is None:
        return ""
    provider, size, _ = grid.columns[x]
    p = f"<br>Welch's t-test against the best: p = {item['p_value']:.2g}" if item["p_value"] is not None else ""
    unproven = item["cell"].get("unproven_reason")
    return (
        f"<b>{item['client']}</b>, {provider}, {size_label(size)}<br>{item['value_pct']:.1f} % over "
        f"{item['cell']['best']}<br>n = {item['n']}{p}" + (f"<br>Unproven: {unproven}" if unproven else "")
    )


def figure_height(grid: Grid) -> int:
    """Height in px."""
    return 58 + 54 * len(grid.clients)


def _layout(grid: Grid, scheme: str) -> Json:
    pal = palette(scheme)
    return {
        "height": figure_height(grid),
        "margin": {"l": 130, "r": 8, "t": 8, "b": 44},
        "paper_bgcolor": pal.surface,
        "plot_bgcolor": pal.surface,
        "font": {"family": FONT, "color": pal.text, "size": 12},
        "hoverlabel": {"bgcolor": pal.hover, "bordercolor": pal.muted, "align": "left", "font": {"color": pal.text}},
        "uirevision": "keep",
        "dragmode": False,
        "xaxis": {
            "tickvals": list(range(len(grid.columns))),
            "ticktext": [
                f"{size_label(size)}<br>{provider.removeprefix('testbed-')}" for provider, size, _ in grid.columns
            ],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "tickangle": 0,
        },
        "yaxis": {
            "tickvals": list(range(len(grid.clients))),
            "ticktext": list(grid.clients),
            "autorange": "reversed",
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
    }

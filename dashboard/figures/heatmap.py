"""One provider's heatmap: the difference of H3 against H2 per condition and size.

A cell says what it is three times: by colour, by a pattern or mark, and by words. Three heatmap traces carry the
colours (established, not established, nothing to show), scatter traces the patterns and texts. Every figure has the
same traces in the same order, some of them empty: so Plotly updates a live figure in place.

Figures are plain dicts, as Plotly's JavaScript takes them: objects of Plotly's Python check each value on its own,
which took half the time of the page. The tests have them checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape

from dashboard.client import Json
from dashboard.figures.cell_text import hover_text, paper_words, words_in_cell
from dashboard.figures.grid import Panel
from dashboard.figures.palette import CLIP_PCT, FONT, Palette, diverging, legible_on, muted_diverging, palette
from dashboard.formatting import NBSP, number, size_label
from dashboard.words import drawn_pct, kind_of

CELL_PX = 92
"""Side of a square in px with three sizes or more: three panels fit side by side at 1280 px, one at 390."""
WIDE_CELL_PX = 112
"""The same with one or two sizes."""
RIGHT_PX, TOP_PX, BOTTOM_PX = 4, 50, 42
TITLE_PX = 298
"""Width that the line under the title needs."""

ESTABLISHED = ("h3 faster", "h2 faster", "equivalent")
PAPER = "paper"
"""A square of a paper mode, which knows no verdicts."""
MUTED = ("inconclusive", "unproven", "below floor")
HATCHES: dict[str, tuple[str, float]] = {"inconclusive": ("/", 7), "unproven": ("x", 9), "failing": ("\\", 7)}
"""Plotly pattern and its size in px for each kind of cell that must not be taken for a result."""
OUTLINES: dict[str, str] = {"equivalent": "solid", "below floor": "dashdot", "measuring": "dash", "no data": "dot"}


@dataclass(frozen=True, slots=True)
class _Square:
    x: int
    y: int
    cell: Json
    kind: str
    value: float
    background: str
    words: tuple[str, str, str]


def cell_px(panel: Panel) -> int:
    """Side of a panel's squares in px."""
    return CELL_PX if len(panel.columns) > 2 else WIDE_CELL_PX


def left_px(panel: Panel) -> int:
    """Room in px for the labels of the rows."""
    return {"time": 116, "rate": 92}.get(panel.axis.key, 70)


def figure_size(panel: Panel) -> tuple[int, int]:
    """Width and height in px of the figure round cells that are squares."""
    return (
        max(TITLE_PX, left_px(panel) + RIGHT_PX + cell_px(panel) * len(panel.columns)),
        TOP_PX + BOTTOM_PX + cell_px(panel) * len(panel.rows),
    )


@dataclass(frozen=True, slots=True)
class Look:
    """How a heatmap is drawn, beside its data."""

    scheme: str = "light"
    mode: str = "lastbyte"
    """``lastbyte``, or a definition of the papers: ``yu2020``, ``yu2021``."""
    zone: str = "UTC"
    href: Callable[[Json], str] = field(default=lambda _cell: "")
    """Where a square leads."""


def heatmap_figure(panel: Panel, look: Look = Look()) -> Json:
    """Heatmap of a panel; rows mild to severe from the top, columns small to large from the left."""
    pal = palette(look.scheme)
    clip = clip_pct(panel.shown(), look.mode)
    squares = list(_squares(panel, pal, look.mode, clip))
    traces = [
        _colours(panel, squares, "established", (*ESTABLISHED, PAPER), lambda v: diverging(pal, v, clip), clip, look),
        _colours(panel, squares, "not established", MUTED, lambda v: muted_diverging(pal, v, clip), clip, look),
        _nothing(panel, squares, pal, look),
        *_hatches(squares, pal),
        *_outlines(squares, pal),
        *_texts(squares),
    ]
    return {"data": traces, "layout": _layout(panel, pal, look.zone)}


def clip_pct(cells: Iterable[Json], mode: str) -> float:
    """Percent at which colours saturate: ours, or what the paper's definition says."""
    if mode == "lastbyte":
        return CLIP_PCT
    return next((abs(float(c["paper"]["limits_pct"][1])) for c in cells if c.get("paper")), CLIP_PCT)


def _layout(panel: Panel, pal: Palette, zone: str) -> Json:
    width, height = figure_size(panel)
    return {
        "title": {
            "text": f"<b>{escape(panel.provider)}</b><br>"
            f'<span style="font-size:12px;color:{pal.muted}">{origin_line(panel)}</span>',
            "font": {"size": 16, "color": pal.text},
            "x": 0,
            "xref": "container",
            "pad": {"l": left_px(panel) + 2, "t": 15},
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "automargin": False,
        },
        "width": width,
        "height": height,
        "margin": {
            "l": left_px(panel),
            "r": width - left_px(panel) - cell_px(panel) * len(panel.columns),
            "t": TOP_PX,
            "b": BOTTOM_PX,
            "pad": 0,
        },
        "paper_bgcolor": pal.surface,
        "plot_bgcolor": pal.surface,
        "font": {"family": FONT, "color": pal.text, "size": 13},
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "uirevision": "keep",
        "xaxis": _axis("Object size", [size_label(c) for c in panel.columns], pal, standoff=6),
        "yaxis": _axis(
            panel.axis.title, [panel.axis.row_label(r, zone) for r in panel.rows], pal, standoff=8, downwards=True
        ),
    }


def origin_line(panel: Panel) -> str:
    """What stands behind the provider's name, and how far away it is."""
    if panel.origin == "testbed":
        return f"testbed stand-in · base RTT {number(panel.base_rtt_ms)} ms"
    return {"production": "production endpoint", "imported": "imported results"}.get(panel.origin, panel.origin)


def _squares(panel: Panel, pal: Palette, mode: str, clip: float) -> Iterator[_Square]:
    for y, row in enumerate(panel.cells):
        for x, cell in enumerate(row):
            if cell is None:
                continue
            kind, value, words = _as_ours(cell) if mode == "lastbyte" else _as_paper(cell)
            if kind in (*ESTABLISHED, PAPER):
                background = diverging(pal, value, clip)
            elif kind in MUTED:
                background = muted_diverging(pal, value, clip)
            else:
                background = pal.empty
            yield _Square(x, y, cell, kind, value, background, words)


def _as_ours(cell: Json) -> tuple[str, float, tuple[str, str, str]]:
    kind = kind_of(cell)
    return kind, drawn_pct(cell) or 0.0, words_in_cell(cell, kind)


def _as_paper(cell: Json) -> tuple[str, float, tuple[str, str, str]]:
    paper = cell.get("paper")
    kind = kind_of(cell)
    if paper is None or paper["value_pct"] is None:
        kind = kind if kind in ("pending", "measuring", "failing") else "no data"
        return kind, 0.0, words_in_cell(cell, kind)
    number_, rest, small = paper_words(cell)
    if kind == "unproven":
        return kind, paper["value_pct"], (number_, "! unproven", small)
    return PAPER, paper["value_pct"], (number_, rest, small)


def _colours(
    panel: Panel,
    squares: list[_Square],
    name: str,
    kinds: tuple[str, ...],
    colour: Callable[[float], str],
    clip: float,
    look: Look,
) -> Json:
    chosen = [s for s in squares if s.kind in kinds]
    steps = [i / 20 for i in range(21)]
    scale = [(step, colour((2 * step - 1) * clip)) for step in steps]
    return _layer(panel, chosen, name, {(s.x, s.y): s.value for s in chosen}, scale, clip, look)


def _nothing(panel: Panel, squares: list[_Square], pal: Palette, look: Look) -> Json:
    chosen = [s for s in squares if s.kind not in (*ESTABLISHED, *MUTED, PAPER)]
    scale = [(0.0, pal.empty), (1.0, pal.empty)]
    return _layer(panel, chosen, "no result", {(s.x, s.y): 0.0 for s in chosen}, scale, CLIP_PCT, look)


def _layer(
    panel: Panel,
    squares: list[_Square],
    name: str,
    values: dict[tuple[int, int], float],
    colorscale: list[tuple[float, str]],
    clip: float,
    look: Look,
) -> Json:
    columns, rows = range(len(panel.columns)), range(len(panel.rows))
    hover = {(s.x, s.y): hover_text(panel, s.cell, kind_of(s.cell)) for s in squares}
    hrefs = {(s.x, s.y): look.href(s.cell) for s in squares}
    return {
        "type": "heatmap",
        "name": name,
        "x": list(columns),
        "y": list(rows),
        "z": [[values.get((x, y)) for x in columns] for y in rows],
        "hovertext": [[hover.get((x, y), "") for x in columns] for y in rows],
        "customdata": [[hrefs.get((x, y), "") for x in columns] for y in rows],
        "hoverinfo": "none",  # the page shows the text itself: a label of Plotly would be cut off at the figure's edge
        "hoverongaps": False,
        "zmin": -clip,
        "zmax": clip,
        "zmid": 0,
        "colorscale": colorscale,
        "showscale": False,
        "xgap": 4,
        "ygap": 4,
    }


def _hatches(squares: list[_Square], pal: Palette) -> Iterator[Json]:
    for kind, (shape, size) in HATCHES.items():
        xs, ys = _frames([s for s in squares if s.kind == kind], 0.478)
        yield {
            "type": "scatter",
            "name": f"hatch {kind}",
            "x": xs,
            "y": ys,
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "fillcolor": "rgba(0,0,0,0)",
            "fillpattern": {
                "shape": shape,
                "size": size,
                "solidity": 0.12,
                "fgcolor": pal.muted,
                "fgopacity": 0.38,
                "bgcolor": "rgba(0,0,0,0)",
                "fillmode": "overlay",
            },
            "hoverinfo": "skip",
        }


def _outlines(squares: list[_Square], pal: Palette) -> Iterator[Json]:
    for kind, dash in OUTLINES.items():
        xs, ys = _frames([s for s in squares if s.kind == kind], 0.44)
        yield {
            "type": "scatter",
            "name": f"outline {kind}",
            "x": xs,
            "y": ys,
            "mode": "lines",
            "line": {"width": 2 if dash == "solid" else 1, "dash": dash, "color": pal.muted},
            "opacity": 1.0 if dash == "solid" else 0.6,
            "hoverinfo": "skip",
        }


def _frames(squares: list[_Square], half: float) -> tuple[list[float | None], list[float | None]]:
    xs: list[float | None] = []
    ys: list[float | None] = []
    for s in squares:
        xs += [s.x - half, s.x + half, s.x + half, s.x - half, s.x - half, None]
        ys += [s.y - half, s.y - half, s.y + half, s.y + half, s.y - half, None]
    return xs, ys


def _texts(squares: list[_Square]) -> Iterator[Json]:
    lines = [s.words for s in squares]
    inks = [legible_on(s.background) for s in squares]
    for name, offset, size, at in (("numbers", -0.17, 16, 0), ("intervals", 0.12, 11, 1), ("rounds", 0.31, 11, 2)):
        yield {
            "type": "scatter",
            "name": name,
            "x": [s.x for s in squares],
            "y": [s.y + (0 if s.kind == "pending" else offset) for s in squares],
            # Plotly removes the node of an empty text and then loses others when the figure is updated in place.
            "text": [line[at] or NBSP for line in lines],
            "mode": "text",
            "textfont": {"size": size, "color": inks, "family": FONT},
            "hoverinfo": "skip",
            "cliponaxis": False,
        }


def _axis(title: str, labels: list[str], pal: Palette, *, standoff: int, downwards: bool = False) -> Json:
    ends = [-0.5, len(labels) - 0.5]
    return {
        "title": {"text": title, "standoff": standoff, "font": {"size": 12, "color": pal.muted}},
        "tickvals": list(range(len(labels))),
        "ticktext": labels,
        "range": ends[::-1] if downwards else ends,
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "ticks": "",
    }

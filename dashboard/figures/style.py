"""What all figures but the heatmaps share: fonts, margins, axes with titles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dashboard.client import Json
from dashboard.figures.palette import FONT, Palette

LEGEND: Json = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}
"""Above the figure, from the left."""


def layout(pal: Palette, **other: Any) -> Json:
    """A layout in a palette; ``other`` goes on top.

    News keep a viewer's zoom as long as the axes mean the same. Plotly does so only where the figure has no ``range``
    of its own that news change: give ``autorangeoptions`` instead.
    """
    titles = [other.get(name, {}).get("title", {}).get("text", "") for name in ("xaxis", "yaxis")]
    return {
        "margin": {"l": 64, "r": 14, "t": 34, "b": 46},
        "paper_bgcolor": pal.surface,
        "plot_bgcolor": pal.surface,
        "font": {"family": FONT, "color": pal.text, "size": 12},
        "legend": LEGEND,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": pal.hover, "bordercolor": pal.muted, "align": "left", "font": {"color": pal.text}},
        "uirevision": "|".join(titles),
        "dragmode": "zoom",
        **other,
    }


def around_zero(ends: Iterable[float | None], least: float = 1.0, room: float = 1.08) -> Json:
    """For an axis of differences: zero in the middle, as far to both sides as the farthest end, and ``least`` at least.

    ``room`` times as far where words stand beside the marks.
    Not a ``range``, so that a viewer's zoom outlives news.
    """
    reach = max(least, *(abs(end) for end in ends if end is not None), 0.0)
    return {"autorangeoptions": {"include": [-room * reach, room * reach]}, "zeroline": True}


def axis(pal: Palette, title: str, **other: Any) -> Json:
    """An axis with its unit in the title."""
    return {
        "title": {"text": title, "font": {"color": pal.muted, "size": 12}},
        "gridcolor": pal.grid,
        "zeroline": False,
        "automargin": True,
        **other,
    }

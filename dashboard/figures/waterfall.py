"""Waterfall of a page's load: one bar a resource, in the order in which they were asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import Palette, blend, palette
from dashboard.figures.style import axis, layout

KB = 1000
_MARKS = {"h2": ("square", "/"), "h3": ("circle", "")}
"""Symbol of the first byte and pattern of the bar, so that protocols differ without colour."""
_OTHER = ("x", ".")
_EVENTS = {"_firstContentfulPaint": "FCP", "_largestContentfulPaint": "LCP", "onLoad": "load"}
ROW_PX = 17
"""Height of a bar with its gap."""
_LONGEST_NAME = 34


@dataclass(frozen=True, slots=True)
class Bar:
    """One resource. Times in ms from the start of the first connection."""

    name: str
    url: str
    protocol: str
    start_ms: float
    """Asked for."""
    first_byte_ms: float
    end_ms: float
    """Last byte."""
    body_bytes: int
    status: int


def bars(har: Json) -> list[Bar]:
    """The resources of an HTTP Archive (HAR 1.2) in the order of their requests; what can't be placed is left out."""
    zero = _seconds(har["log"]["pages"][0]["startedDateTime"])
    found = []
    for entry in har["log"]["entries"]:
        start_ms = (_seconds(entry["startedDateTime"]) - zero) * 1000
        end_ms = start_ms + float(entry["time"])
        receive_ms = max(0.0, float(entry["timings"]["receive"]))
        if not math.isfinite(start_ms + end_ms + receive_ms):
            continue
        found.append(
            Bar(
                name=_name(entry["request"]["url"]),
                url=entry["request"]["url"],
                protocol=entry["request"]["httpVersion"],
                start_ms=start_ms,
                first_byte_ms=end_ms - receive_ms,
                end_ms=end_ms,
                body_bytes=int(entry["response"]["content"]["size"]),
                status=int(entry["response"]["status"]),
            )
        )
    return sorted(found, key=lambda bar: (bar.start_ms, bar.url))


def events(har: Json) -> dict[str, float]:
    """FCP, LCP and load in ms from the start of the first connection, those that were."""
    timings = har["log"]["pages"][0]["pageTimings"]
    return {label: float(timings[key]) for key, label in _EVENTS.items() if float(timings.get(key) or -1) >= 0}


def waterfall_figure(har: Json, scheme: str = "light", until_ms: float | None = None) -> go.Figure:
    """Bars from request to last byte, a mark at each first byte, lines at FCP, LCP and load.

    ``until_ms``: the axis' end, the same for figures that are compared.
    """
    pal = palette(scheme)
    found = bars(har)
    figure = go.Figure()
    for protocol in sorted({bar.protocol for bar in found}):
        _add(figure, pal, protocol, [(at, bar) for at, bar in enumerate(found) if bar.protocol == protocol])
    for place, (label, at_ms) in enumerate(sorted(events(har).items(), key=lambda item: item[1])):
        figure.add_vline(x=at_ms, line={"color": pal.muted, "width": 1, "dash": "dot"})
        figure.add_annotation(
            x=at_ms, y=-0.5 - 1.1 * (place % 3), yref="y", text=f"{label} {at_ms:,.0f} ms", showarrow=False,
            xanchor="right" if until_ms and at_ms > until_ms / 2 else "left", font={"color": pal.text, "size": 11},
            bgcolor=pal.surface,
        )  # fmt: skip
    return figure.update_layout(
        layout(
            pal,
            barmode="overlay",
            bargap=0.3,
            margin={"l": 64, "r": 14, "t": 34, "b": 46},
            xaxis=axis(
                pal,
                "Since the start of the first connection (ms)",
                tickformat=",~f",
                **({"autorangeoptions": {"include": [0, until_ms]}} if until_ms else {"rangemode": "tozero"}),
            ),
            yaxis=axis(
                pal,
                "",
                tickvals=list(range(len(found))),
                ticktext=[bar.name for bar in found],
                range=[len(found) - 0.4, -0.6 - 1.1 * len(_EVENTS)],  # the first at the top, labels of the events above
                tickfont={"size": 10},
                showgrid=False,
            ),
        )
    )


def _add(figure: go.Figure, pal: Palette, protocol: str, rows: Sequence[tuple[int, Bar]]) -> None:
    colour = {"h2": pal.h2, "h3": pal.h3}.get(protocol, pal.muted)
    symbol, pattern = _MARKS.get(protocol, _OTHER)
    label = {"h2": "HTTP/2", "h3": "HTTP/3"}.get(protocol, protocol)
    hover = [
        f"<b>{bar.url}</b><br>{label}, status {bar.status}, {bar.body_bytes / KB:,.1f} KB<br>"
        f"asked for at {bar.start_ms:,.1f} ms, first byte at {bar.first_byte_ms:,.1f} ms, "
        f"last byte at {bar.end_ms:,.1f} ms<extra></extra>"
        for _, bar in rows
    ]
    figure.add_trace(
        go.Bar(
            name=f"{label}: request to last byte",
            orientation="h",
            y=[at for at, _ in rows],
            base=[bar.start_ms for _, bar in rows],
            x=[bar.end_ms - bar.start_ms for _, bar in rows],
            marker={
                "color": blend(colour, pal.surface, 0.45),
                "line": {"color": colour, "width": 1},
                "pattern": {"shape": pattern, "fgcolor": colour, "fgopacity": 0.5, "size": 5},
            },
            hovertemplate=hover,
        )
    )
    figure.add_trace(
        go.Scatter(
            name=f"{label}: first byte",
            mode="markers",
            x=[bar.first_byte_ms for _, bar in rows],
            y=[at for at, _ in rows],
            marker={"color": colour, "symbol": symbol, "size": 7},
            hovertemplate=hover,
        )
    )


def summary(har: Json) -> str:
    """The picture in words, for those who can't see it."""
    found = bars(har)
    if not found:
        return "No resource came."
    size_kb = sum(bar.body_bytes for bar in found) / KB
    said = [f"{len(found)} resources, {size_kb:,.0f} KB, last byte at {max(bar.end_ms for bar in found):,.0f} ms"]
    said += [f"{label} at {at_ms:,.0f} ms" for label, at_ms in sorted(events(har).items(), key=lambda item: item[1])]
    longest = max(found, key=lambda bar: bar.end_ms - bar.start_ms)
    return ", ".join([*said, f"longest: {longest.name}, {longest.end_ms - longest.start_ms:,.0f} ms"])


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def _name(url: str) -> str:
    parts = urlsplit(url)
    name = parts.path.rstrip("/").rsplit("/", 1)[-1] or parts.hostname or url
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"

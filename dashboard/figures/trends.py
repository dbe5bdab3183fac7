"""Medians over time with their bands, changes of level, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from html import escape

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import Palette, blend, palette
from dashboard.figures.style import axis, layout
from dashboard.formatting import ms, parse_time, signed_pct, viewer_zone, when


def trend_figure(series: Sequence[Json], notes: Sequence[Json], scheme: str = "light", zone: str = "UTC") -> go.Figure:
    """Series of one unit over time: a line with points, a band of their intervals, a diamond per change of level."""
    pal = palette(scheme)
    figure = go.Figure()
    others = iter(pal.series[1:])
    for item in series:
        colour = _colour(item, pal, others)
        _band(figure, item, colour, pal, zone)
        figure.add_trace(_line(item, colour, zone))
        changes = _changes(item, pal, zone)
        if changes is not None:
            figure.add_trace(changes)
    unit = series[0]["unit"] if series else "ms"
    title = "Median TTLB (ms)" if unit == "ms" else "H3 against H2 (%)"
    figure.update_layout(
        layout(
            pal,
            xaxis=axis(pal, f"Time ({zone})", type="date", range=_span(series, zone)),
            yaxis=axis(pal, title, zerolinecolor=pal.muted, **(_WITH_ZERO if unit == "%" else {})),
            shapes=[_note_line(clock(note["at"], zone), pal) for note in notes],
            annotations=[_note_text(note, clock(note["at"], zone), pal) for note in notes],
        )
    )
    return figure


_WITH_ZERO = {"zeroline": True, "autorangeoptions": {"include": [0]}}
"""So that it shows on which side of zero a difference is."""


def clock(text: str, zone: str) -> str:
    """A time of the API on the viewer's clock, as Plotly's date axes want it: without an offset."""
    return parse_time(text).astimezone(viewer_zone(zone)).replace(tzinfo=None).isoformat()


def _span(series: Sequence[Json], zone: str) -> list[str] | None:
    """From first to last point with room beside them, an hour at least: else one point would fill a millisecond."""
    times = sorted(parse_time(clock(p["at"], zone)) for item in series for p in item["points"])
    if not times:
        return None
    room = max((times[-1] - times[0]) * 0.04, timedelta(minutes=30))
    return [(moment).replace(tzinfo=None).isoformat() for moment in (times[0] - room, times[-1] + room)]


def name_of(item: Json) -> str:
    """What a series shows, in the legend."""
    return f"{item['client']} against {item['baseline']}" if item["baseline"] else str(item["client"])


def shown_value(item: Json, value: float) -> str:
    """A value in the unit of its series."""
    return ms(value) if item["unit"] == "ms" else signed_pct(value)


def _colour(item: Json, pal: Palette, others: object) -> str:
    if item["baseline"] is None and item["client"].endswith("-h2"):
        return pal.h2
    if item["client"].endswith("-h3") and item["client"].startswith("curl-quiche"):
        return pal.h3
    return next(others, pal.muted)  # type: ignore[call-overload, no-any-return]


def _band(figure: go.Figure, item: Json, colour: str, pal: Palette, zone: str) -> None:
    known = [p for p in item["points"] if p["ci_low"] is not None and p["ci_high"] is not None]
    if len(known) < 2:
        return
    times = [clock(p["at"], zone) for p in known]
    figure.add_trace(
        go.Scatter(
            name=f"{name_of(item)} 95 %",
            x=times + times[::-1],
            y=[p["ci_high"] for p in known] + [p["ci_low"] for p in known][::-1],
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=blend(colour, pal.surface, 0.78),
            hoverinfo="skip",
            showlegend=False,
        )
    )


def _line(item: Json, colour: str, zone: str) -> go.Scatter:
    points = item["points"]
    return go.Scatter(
        name=name_of(item),
        x=[clock(p["at"], zone) for p in points],
        y=[p["value"] for p in points],
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": "dash" if item["client"].endswith("-h2") else "solid"},
        marker={"size": 7, "color": colour, "symbol": "square" if item["client"].endswith("-h2") else "circle"},
        customdata=[f"/campaigns/{p['campaign_id']}/cells/{p['cell_id']}" for p in points],
        text=[
            f"<b>{escape(name_of(item))}</b><br>{when(p['at'], zone)}, {escape(p['campaign_name'])}<br>"
            f"{shown_value(item, p['value'])}, n = {p['n']}"
            + (
                f"<br>95 % interval {shown_value(item, p['ci_low'])} to {shown_value(item, p['ci_high'])}"
                if p["ci_low"] is not None and p["ci_high"] is not None
                else ""
            )
            for p in points
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _changes(item: Json, pal: Palette, zone: str) -> go.Scatter | None:
    at = {p["at"]: p["value"] for p in item["points"]}
    found = [c for c in item["changes"] if c["at"] in at]
    if not found:
        return None
    return go.Scatter(
        name=f"{name_of(item)}: change of level",
        x=[clock(c["at"], zone) for c in found],
        y=[at[c["at"]] for c in found],
        mode="markers+text",
        marker={"size": 15, "symbol": "diamond-open", "color": pal.alert, "line": {"width": 2.5}},
        text=[signed_pct(c["shift_pct"]) if c["shift_pct"] is not None else "?" for c in found],
        textposition="top center",
        textfont={"color": pal.alert},
        hovertext=[f"New level from {when(c['at'], zone)} on" for c in found],
        hoverinfo="text",
        showlegend=False,
    )


def _note_line(at: str, pal: Palette) -> Json:
    return {
        "type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1,
        "line": {"color": pal.muted, "width": 1, "dash": "dot"},
    }  # fmt: skip


def _note_text(note: Json, at: str, pal: Palette) -> Json:
    return {
        "xref": "x", "yref": "paper", "x": at, "y": 1, "yanchor": "top", "xanchor": "left", "showarrow": False,
        "text": escape(note["text"]).replace("\n", "<br>"), "font": {"size": 11, "color": pal.muted}, "align": "left",
    }  # fmt: skip

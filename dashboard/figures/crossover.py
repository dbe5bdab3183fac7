"""Where along an axis H3 and H2 take the same time: one track per line of cells."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard.client import Json
from dashboard.figures.palette import blend, palette
from dashboard.figures.style import axis, layout
from dashboard.formatting import NBSP, amount, number, size_label

TITLES = {
    "loss": "Extra loss (%)",
    "delay": "Extra delay, RTT (ms)",
    "rate": "Rate (Mbit/s)",
    "size": "Object size (bytes)",
}
WHAT_KIND = {
    "found": "cross here",
    "h3 faster throughout": "H3 faster throughout",
    "h2 faster throughout": "H3 slower throughout",
    "several": "cross more than once: no single place can be named",
    "too uncertain": "too uncertain to say",
    "too few": "fewer than two places with six pairs each",
}


def crossover_figure(lines: Sequence[Json], axis_key: str, scheme: str = "light") -> go.Figure:
    """Tracks of one provider: blue and solid where H3 is faster, red and dashed where slower, dotted where unclear."""
    pal = palette(scheme)
    tracks: dict[str, tuple[list[float | None], list[float | None]]] = {
        key: ([], []) for key in ("H3 faster", "H3 slower", "can't be said")
    }
    for y, line in enumerate(lines):
        for kind, low, high in segments(line):
            xs, ys = tracks[kind]
            xs += [low, high, None]
            ys += [y, y, None]
    looks = {
        "H3 faster": {"color": pal.h3, "width": 7},
        "H3 slower": {"color": pal.h2, "width": 7, "dash": "10px,3px"},
        "can't be said": {"color": pal.muted, "width": 2, "dash": "dot"},
    }
    figure = go.Figure(
        [
            go.Scatter(name=kind, x=xs, y=ys, mode="lines", line=looks[kind], hoverinfo="skip")
            for kind, (xs, ys) in tracks.items()
        ]
    )
    found = [(y, line) for y, line in enumerate(lines) if line["kind"] == "found"]
    figure.add_trace(
        go.Scatter(
            name="crossover",
            x=[line["x"] for _, line in found],
            y=[y for y, _ in found],
            mode="markers",
            marker={"symbol": "diamond", "size": 13, "color": pal.text, "line": {"width": 1.5, "color": pal.surface}},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [
                    (line["ci_high"] if line["ci_high"] is not None else line["x"]) - line["x"] for _, line in found
                ],
                "arrayminus": [
                    line["x"] - (line["ci_low"] if line["ci_low"] is not None else line["x"]) for _, line in found
                ],
                "color": pal.text,
                "thickness": 2,
            },
            text=[said(line, axis_key) for _, line in found],
            hovertemplate="%{text}<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            name="measured",
            x=[x for line in lines for x in line["xs"]],
            y=[y for y, line in enumerate(lines) for _ in line["xs"]],
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 12, "color": blend(pal.muted, pal.surface, 0.2)},
            text=[said(line, axis_key) for line in lines for _ in line["xs"]],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_layout(
        layout(
            pal,
            height=figure_height(lines),
            xaxis=axis(pal, TITLES[axis_key], **_scale(axis_key, lines)),
            yaxis=axis(
                pal,
                "",
                tickvals=list(range(len(lines))),
                ticktext=[label(line) for line in lines],
                range=[len(lines) - 0.4, -0.6],
                showgrid=False,
            ),
        )
    )
    return figure


def _scale(axis_key: str, lines: Sequence[Json]) -> Json:
    """Loss and delay begin at zero; sizes and rates are spread by factors. All that was measured is within."""
    xs = [x for line in lines for x in line["xs"]]
    if axis_key in ("size", "rate"):
        # decades, each with 1, 2 and 5: units in the numbers instead of powers of ten
        return {"type": "log", "dtick": "D2", "tickformat": "~s", "ticksuffix": "B" if axis_key == "size" else ""}
    return {"type": "linear", "autorangeoptions": {"include": [0, max(xs, default=1.0)]}, "tickformat": "~g"}


def figure_height(lines: Sequence[Json]) -> int:
    """Height in px."""
    return 120 + 34 * len(lines)


def segments(line: Json) -> list[tuple[str, float, float]]:
    """Parts of a line and which side wins there."""
    low, high = min(line["xs"]), max(line["xs"])
    if line["kind"] == "found":
        first, second = ("H3 faster", "H3 slower") if line["h3_faster_below"] else ("H3 slower", "H3 faster")
        return [(first, low, line["x"]), (second, line["x"], high)]
    whole = {"h3 faster throughout": "H3 faster", "h2 faster throughout": "H3 slower"}
    return [(whole.get(line["kind"], "can't be said"), low, high)]


def label(line: Json) -> str:
    """What stays the same along the line."""
    parts = [size_label(line["size_label"])] if line["size_label"] else []
    parts += [f"{number(line['loss_pct'])}{NBSP}% loss"] if line["loss_pct"] else []
    parts += [f"{number(line['delay_ms'])}{NBSP}ms delay"] if line["delay_ms"] else []
    parts += [f"{number(line['rate_mbit_s'])}{NBSP}Mbit/s"] if line["rate_mbit_s"] else []
    return ", ".join(parts) or "all"


def said(line: Json, axis_key: str) -> str:
    """The line in a sentence."""
    if line["kind"] != "found":
        return f"{label(line)}: {WHAT_KIND.get(line['kind'], line['kind'])}"
    bounds = (
        f" (95 % interval {place(line['ci_low'], axis_key)} to {place(line['ci_high'], axis_key)})"
        if line["ci_low"] is not None and line["ci_high"] is not None
        else ""
    )
    below = "faster" if line["h3_faster_below"] else "slower"
    return f"{label(line)}: H3 is {below} below {place(line['x'], axis_key)}{bounds}"


def place(x: float, axis_key: str) -> str:
    """A place on the axis with its unit."""
    if axis_key == "size":
        return amount(x)
    unit = {"loss": "%", "delay": "ms", "rate": "Mbit/s"}[axis_key]
    return f"{float(f'{x:.3g}'):g}{NBSP}{unit}"

"""A figure on a page: a title, what it shows, the graph, and buttons that save it."""

from __future__ import annotations

from typing import Any, cast

import plotly.graph_objects as go
from dash import dcc, html

from dashboard import ids
from dashboard.attributes import aria, data

GRAPH_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "displayModeBar": False,
    "scrollZoom": False,
    "doubleClick": "reset",
    "showTips": False,
}


def figure_card(
    key: str,
    title: str,
    figure: go.Figure,
    *,
    note: Any = None,
    says: str = "",
    csv: str | None = None,
    height_px: int = 300,
    width_px: int | None = None,
) -> html.Section:
    """A card with one figure; ``says`` is read out in place of the picture, ``csv`` the address of its data.

    Where the screen is narrower than ``width_px``, the figure scrolls.
    """
    return html.Section(
        [
            html.Div(
                [html.H2(title), html.Div(save_buttons(key, title, csv), className="lb-save lb-push")],
                className="lb-card-head",
            ),
            html.P(note, id=ids.slot(key), className="lb-muted lb-card-note") if note else None,
            html.Div(
                dcc.Graph(
                    id=ids.figure(key),
                    figure=figure,
                    config=cast("Any", GRAPH_CONFIG),
                    responsive=True,
                    style={"height": f"{height_px}px", "minWidth": f"{width_px or 0}px"},
                ),
                role="img",
                className="lb-figure-scroll" if width_px else None,
                tabIndex="0" if width_px else None,
                **aria(label=f"{title}. {says}" if says else title),
            ),
        ],
        className="lb-card",
        **data(figure=key),
    )


def save_buttons(key: str, title: str, csv: str | None) -> list[Any]:
    """SVG, PNG and, with an address, CSV."""
    buttons: list[Any] = [
        html.Button(
            kind,
            className="lb-save-button",
            type="button",
            **data(save=kind.lower(), name=f"lastbyte-{key}".replace(" ", "-").replace("/", "-")),
            **aria(label=f"Save {title} as {kind}"),
        )
        for kind in ("SVG", "PNG")
    ]
    if csv:
        buttons.append(
            html.A("CSV", href=csv, className="lb-save-button", download="", **aria(label=f"Data of {title} as CSV"))
        )
    return buttons

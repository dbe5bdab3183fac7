"""One campaign: progress, the answer in a sentence, heatmaps per provider, and every cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
import plotly.graph_objects as go
from dash import dcc, html

from dashboard import ids
from dashboard.attributes import aria
from dashboard.client import ApiClient, Json
from dashboard.figures.grid import AXES, DELAY, LOSS, Axis, all_cells, off_grid, panel_key, panels
from dashboard.figures.heatmap import heatmap_figure
from dashboard.formatting import plural
from dashboard.pages import parts
from dashboard.pages.cell import drawer
from dashboard.pages.cells_table import cells_table
from dashboard.pages.legend import legend
from dashboard.pages.shell import Place
from dashboard.words import summary

GRAPH_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg"},
    "scrollZoom": False,
    "doubleClick": False,
    "showTips": False,
}


@dataclass(frozen=True, slots=True)
class View:
    """Everything on the page that changes with data or with the controls."""

    head: Any
    summary: str
    figures: dict[str, go.Figure]
    """By panel key; providers without a cell on this axis are left out."""
    no_panels: Any
    off_grid: Any
    all_cells: Any


def fetch_and_view(
    api: ApiClient, campaign: Json, axis: Axis, baseline: str | None, candidate: str | None, place: Place
) -> View:
    """Ask the API for the heatmap and draw it."""
    return view(campaign, api.heatmap(campaign["id"], baseline, candidate), axis, place)


def view(campaign: Json, heatmap: Json, axis: Axis, place: Place) -> View:
    """Build all changing parts from API answers."""
    laid_out = panels(heatmap, axis)
    cells = all_cells(heatmap)
    rest = off_grid(heatmap)
    return View(
        head=head(campaign, place.zone),
        summary=summary([cell for _, cell in cells]),
        figures={panel.key: heatmap_figure(panel, place.scheme) for panel in laid_out},
        no_panels=None if laid_out else _no_panels(axis),
        off_grid=_off_grid(rest) if rest else None,
        all_cells=cells_table(cells, "all"),
    )


def page(campaign: Json, heatmap: Json, place: Place, poll_ms: int) -> html.Div:
    """The page with its first content; ``heatmap`` is for the clients in the query."""
    axis = AXES.get(place.query.get("axis", "")) or best_axis(heatmap)
    shown = view(campaign, heatmap, axis, place)
    providers = [(panel_key(p), p["provider"]) for p in heatmap["providers"]]
    over = campaign["state"] in parts.IS_OVER
    return html.Div(
        [
            dcc.Store(id=ids.CAMPAIGN_ID, data=campaign["id"]),
            dcc.Store(
                id=ids.CAMPAIGN_SEEN, data=fingerprint(campaign, axis, heatmap["baseline"], heatmap["candidate"])
            ),
            dcc.Store(id=ids.OPEN_CELL, data=_cell_in_query(place.query)),
            dcc.Interval(id=ids.CAMPAIGN_TICK, interval=poll_ms, disabled=over),
            dcc.Download(id=ids.HEATMAP_DOWNLOAD),
            html.Div(id=ids.CAMPAIGN_BANNER),
            html.Div(shown.head, id=ids.CAMPAIGN_HEAD),
            html.P(shown.summary, id=ids.CAMPAIGN_SUMMARY, className="lb-summary", role="status"),
            _controls(campaign, heatmap, axis),
            html.Div([_panel(key, name, shown.figures.get(key)) for key, name in providers], className="lb-panels"),
            html.Div(shown.no_panels, id=ids.NO_PANELS),
            legend(place.scheme),
            html.Div(shown.off_grid, id=ids.OFF_GRID),
            html.Details(
                [html.Summary("All cells as a table"), html.Div(shown.all_cells, id=ids.ALL_CELLS)],
                className="lb-details",
            ),
            html.Div(id=ids.TIP, className="lb-tip", role="tooltip"),
            drawer(place.scheme),
            parts.cancel_dialog(),
        ]
    )


def fingerprint(campaign: Json, axis: Axis, baseline: str | None, candidate: str | None) -> str:
    """Changes exactly when something on the page would."""
    counts = (campaign[key] for key in ("state", "trials_done", "trials_failed", "cells_done"))
    return "|".join(str(part) for part in (*counts, axis.key, baseline, candidate))


def best_axis(heatmap: Json) -> Axis:
    """The axis on which the campaign varies more; loss when equal."""
    rows = {axis.key: max((len(p.rows) for p in panels(heatmap, axis)), default=0) for axis in (LOSS, DELAY)}
    return DELAY if rows["delay"] > rows["loss"] else LOSS


def head(campaign: Json, zone: str) -> html.Div:
    """Name, state, progress and what was asked for."""
    running = campaign["state"] == "running"
    failed = campaign["trials_failed"]
    times: Any = [
        "created ",
        parts.time_tag(campaign["created_at"], zone),
        *([", finished ", parts.time_tag(campaign["finished_at"], zone)] if campaign["finished_at"] else []),
    ]
    return html.Div(
        [
            dcc.Link("← Campaigns", href="/", className="lb-back"),
            html.Div(
                [
                    html.H1(campaign["name"]),
                    parts.badge(campaign["state"]),
                    html.Div(parts.cancel_button(campaign), className="lb-push"),
                ],
                className="lb-title-row",
            ),
            html.P(
                parts.joined(
                    html.Span(plural(campaign["cells_planned"], "cell")),
                    html.Span(f"{plural(campaign['rounds'], 'round')} and a warm-up"),
                    html.Span(", ".join(campaign["clients"])),
                    html.Span(f"vantage {campaign['vantage']}"),
                    html.Span(f"seed {campaign['seed']}"),
                    html.Span(times),
                ),
                className="lb-meta",
            ),
            html.Div(
                [
                    parts.progress_bar(campaign),
                    html.Span(
                        parts.joined(
                            f"{parts.left(campaign)} left" if running and campaign["eta_s"] is not None else None,
                            "waiting for a worker" if campaign["state"] == "queued" else None,
                            html.Span(f"{plural(failed, 'trial')} failed", className="lb-failures") if failed else None,
                        )
                    ),
                ],
                className="lb-head-progress",
            ),
        ]
    )


def _controls(campaign: Json, heatmap: Json, axis: Axis) -> html.Div:
    h2 = [c for c in campaign["clients"] if c.endswith("-h2")]
    h3 = [c for c in campaign["clients"] if c.endswith("-h3")]
    return html.Div(
        [
            dmc.SegmentedControl(
                id=ids.AXIS,
                data=[{"value": a.key, "label": a.label} for a in AXES.values()],
                value=axis.key,
                **aria(label="Condition on the rows"),
            ),
            _client_select(ids.CANDIDATE, "H3 client", h3, heatmap["candidate"]),
            _client_select(ids.BASELINE, "against H2 client", h2, heatmap["baseline"]),
            html.Div(
                html.Button("Download CSV", id=ids.HEATMAP_CSV, className="lb-button", type="button"),
                className="lb-push",
            ),
        ],
        className="lb-controls",
    )


def _client_select(ident: str, label: str, clients: list[str], value: str) -> html.Div:
    """A choice where there is one; else the client's name, so that the arms are always named."""
    known = clients if value in clients else [value, *clients]
    return html.Div(
        [
            html.Label(label, htmlFor=ident),
            dmc.Select(
                id=ident,
                data=known,
                value=value,
                allowDeselect=False,
                size="sm",
                w=170,
                **({} if len(known) > 1 else _AS_TEXT),
            ),
        ],
        className="lb-labelled",
    )


_AS_TEXT: dict[str, Any] = {"readOnly": True, "variant": "unstyled", "rightSectionWidth": 0, "rightSection": " "}
"""A select with one option looks like text."""


def card_style(figure: go.Figure | None) -> Mapping[str, str]:
    """Hides the card of a provider that has nothing on this axis."""
    return {} if figure is not None else {"display": "none"}


def _panel(key: str, provider: str, figure: go.Figure | None) -> html.Div:
    return html.Div(
        dcc.Graph(
            id=ids.panel_figure(key),
            figure=figure if figure is not None else go.Figure(),
            config=_graph_config(provider),
            clear_on_unhover=True,
            responsive=False,
        ),
        id=ids.panel_card(key),
        className="lb-panel",
        style=card_style(figure),
    )


def _graph_config(provider: str) -> Any:
    return {**GRAPH_CONFIG, "toImageButtonOptions": {"format": "svg", "filename": f"lastbyte-{provider}"}}


def _no_panels(axis: Axis) -> html.Div:
    return html.Div(
        f"No cell of this campaign varies {axis.title.lower()} alone. All its cells are in the table below.",
        className="lb-state",
    )


def _off_grid(rest: list[tuple[str, Json]]) -> html.Div:
    return html.Div(
        [
            html.H2("Conditions outside the grids"),
            html.P("Without shaping, with loss and delay together, or at another rate.", className="lb-muted lb-under"),
            cells_table(rest, "off-grid"),
        ]
    )


def _cell_in_query(query: dict[str, str]) -> dict[str, str] | None:
    endpoint, profile = query.get("endpoint"), query.get("profile")
    return {"endpoint": endpoint, "profile": profile} if endpoint and profile else None

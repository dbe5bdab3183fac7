"""One campaign: live refresh, switches, export."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go
from dash import ClientsideFunction, Dash, Input, Output, State, ctx, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.export import heatmap_csv
from dashboard.figures.grid import AXES, LOSS
from dashboard.pages.campaign import card_style, fetch_and_view, fingerprint
from dashboard.pages.parts import IS_OVER
from dashboard.pages.shell import Place, outage_banner, problem_banner


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(
        Output(ids.CAMPAIGN_HEAD, "children"),
        Output(ids.CAMPAIGN_SUMMARY, "children"),
        Output(ids.panel_figure(), "figure"),
        Output(ids.panel_card(), "style"),
        Output(ids.NO_PANELS, "children"),
        Output(ids.OFF_GRID, "children"),
        Output(ids.ALL_CELLS, "children"),
        Output(ids.CAMPAIGN_SEEN, "data"),
        Output(ids.CAMPAIGN_TICK, "disabled"),
        Output(ids.CAMPAIGN_BANNER, "children"),
        Input(ids.CAMPAIGN_TICK, "n_intervals"),
        Input(ids.AXIS, "value"),
        Input(ids.BASELINE, "value"),
        Input(ids.CANDIDATE, "value"),
        State(ids.CAMPAIGN_ID, "data"),
        State(ids.CAMPAIGN_SEEN, "data"),
        State(ids.CAMPAIGN_BANNER, "children"),
        State(ids.PLACE, "data"),
        prevent_initial_call=True,
    )
    def refresh(
        _ticks: int | None, axis_key: str, baseline: str, candidate: str, campaign_id: str, seen: str, banner: Any,
        data: dict[str, Any],
    ) -> tuple[Any, ...]:  # fmt: skip
        keys = [output["id"]["panel"] for output in ctx.outputs_list[2]]
        place = Place.from_store(data)
        axis = AXES.get(axis_key, LOSS)
        try:
            campaign = api.campaign(campaign_id)
            now = fingerprint(campaign, axis, baseline, candidate)
            over = campaign["state"] in IS_OVER
            clear = None if banner else no_update
            if now == seen:
                return *_keep(keys), over, clear
            shown = fetch_and_view(api, campaign, axis, baseline, candidate, place)
        except ApiDown as exc:
            since = datetime.now(UTC).isoformat()
            # Keep asking even when the campaign is over: the banner must go once the API is back.
            return *_keep(keys), False, banner or outage_banner(exc, since, place.zone)
        except ApiProblem as exc:
            return *_keep(keys), True, problem_banner(exc)
        figures = [shown.figures.get(key) for key in keys]
        return (
            shown.head,
            shown.summary,
            [figure if figure is not None else go.Figure() for figure in figures],
            [card_style(figure) for figure in figures],
            shown.no_panels,
            shown.off_grid,
            shown.all_cells,
            now,
            over,
            clear,
        )

    @app.callback(
        Output(ids.HEATMAP_DOWNLOAD, "data"),
        Input(ids.HEATMAP_CSV, "n_clicks"),
        State(ids.CAMPAIGN_ID, "data"),
        State(ids.BASELINE, "value"),
        State(ids.CANDIDATE, "value"),
        prevent_initial_call=True,
    )
    def download(clicks: int | None, campaign_id: str, baseline: str, candidate: str) -> Any:
        if not clicks:
            return no_update
        try:
            heatmap = api.heatmap(campaign_id, baseline, candidate)
        except (ApiDown, ApiProblem):
            return no_update  # the banner says so within one tick
        return {"content": heatmap_csv(heatmap), "filename": f"lastbyte-{campaign_id}-heatmap.csv"}

    # The address always reproduces the view; no history entry per switch.
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("lastbyte", "remember"),
        Output(ids.CAMPAIGN_ID, "modified_timestamp"),
        Input(ids.AXIS, "value"),
        Input(ids.BASELINE, "value"),
        Input(ids.CANDIDATE, "value"),
        Input(ids.OPEN_CELL, "data"),
    )

    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("lastbyte", "tip"),
        Output(ids.TIP, "title"),
        Input(ids.panel_figure(), "hoverData"),
        State(ids.panel_figure(), "figure"),
    )


def _keep(keys: list[str]) -> tuple[Any, ...]:
    """Leave every drawn part as it is."""
    same = [no_update] * len(keys)
    return no_update, no_update, same, same, no_update, no_update, no_update, no_update

"""Opening a cell and filling its drawer."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, ctx, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem, Json
from dashboard.export import trials_csv
from dashboard.figures.grid import AXES, LOSS, all_cells, panels
from dashboard.figures.paired import paired_figure
from dashboard.pages.cell import head, rows
from dashboard.pages.shell import Place, problem_banner, state_box


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""
    _register_opening(app, api)
    _register_content(app, api)
    _register_download(app, api)


def _register_opening(app: Dash, api: ApiClient) -> None:
    @app.callback(
        Output(ids.OPEN_CELL, "data"),
        Output(ids.CELL_DRAWER, "opened"),
        Output(ids.panel_figure(), "clickData"),
        Input(ids.panel_figure(), "clickData"),
        Input(ids.open_cell(), "n_clicks"),
        Input(ids.CELL_DRAWER, "opened"),
        State(ids.OPEN_CELL, "data"),
        State(ids.CAMPAIGN_ID, "data"),
        State(ids.AXIS, "value"),
        State(ids.BASELINE, "value"),
        State(ids.CANDIDATE, "value"),
    )
    def open_or_close(
        _clicks: list[Any], _buttons: list[Any], opened: bool, current: Json | None, campaign_id: str,  # noqa: FBT001
        axis_key: str, baseline: str, candidate: str,
    ) -> tuple[Any, Any, list[None]]:  # fmt: skip
        cleared: list[None] = [None] * len(ctx.outputs_list[2])
        trigger = ctx.triggered_id
        if trigger is None:  # the first call: a link may name a cell
            return no_update, current is not None, cleared
        if trigger == ids.CELL_DRAWER:
            return (no_update if opened else None), no_update, cleared
        chosen = _chosen(api, trigger, ctx.triggered[0]["value"], campaign_id, axis_key, baseline, candidate)
        return (chosen, True, cleared) if chosen else (no_update, no_update, cleared)


def _chosen(
    api: ApiClient, trigger: Json, value: Any, campaign_id: str, axis_key: str, baseline: str, candidate: str
) -> Json | None:
    """Endpoint and profile behind a click on a heatmap or a button; None when it was none."""
    if not value:
        return None
    if trigger["type"] == "open-cell":
        return {key: trigger[key] for key in ("endpoint", "profile")}
    try:
        heatmap = api.heatmap(campaign_id, baseline, candidate)
    except (ApiDown, ApiProblem):
        return None  # the banner says so within one tick
    cell = clicked_cell(heatmap, axis_key, trigger["panel"], value)
    return {key: cell[key] for key in ("endpoint", "profile")} if cell else None


def _register_content(app: Dash, api: ApiClient) -> None:
    @app.callback(
        Output(ids.CELL_HEAD, "children"),
        Output(ids.CELL_PLOT, "figure"),
        Output(ids.CELL_GRID, "rowData"),
        Input(ids.OPEN_CELL, "data"),
        Input(ids.CAMPAIGN_SEEN, "data"),
        State(ids.CAMPAIGN_ID, "data"),
        State(ids.BASELINE, "value"),
        State(ids.CANDIDATE, "value"),
        State(ids.PLACE, "data"),
    )
    def fill(
        which: Json | None, _seen: str, campaign_id: str, baseline: str, candidate: str, data: dict[str, Any]
    ) -> tuple[Any, Any, Any]:
        if not which:
            return no_update, no_update, no_update
        place = Place.from_store(data)
        try:
            found = find_cell(api.heatmap(campaign_id, baseline, candidate), which)
            if found is None:
                return state_box("This campaign has no such cell", "The link may be from another one."), {}, []
            trials = api.trials(campaign_id, endpoint=which["endpoint"], profile=which["profile"])
        except ApiDown as exc:
            return (
                state_box("The API does not answer", f"{exc} Open the cell again in a moment.", None, "error"),
                {},
                [],
            )
        except ApiProblem as exc:
            return problem_banner(exc), {}, []
        figure = paired_figure(trials, baseline, candidate, place.scheme)
        return head(*found), figure, rows(trials, place.zone)


def _register_download(app: Dash, api: ApiClient) -> None:
    @app.callback(
        Output(ids.CELL_DOWNLOAD, "data"),
        Input(ids.CELL_CSV, "n_clicks"),
        State(ids.OPEN_CELL, "data"),
        State(ids.CAMPAIGN_ID, "data"),
        prevent_initial_call=True,
    )
    def download(clicks: int | None, which: Json | None, campaign_id: str) -> Any:
        if not clicks or not which:
            return no_update
        try:
            trials = api.trials(campaign_id, endpoint=which["endpoint"], profile=which["profile"])
        except (ApiDown, ApiProblem):
            return no_update  # the banner says so within one tick
        return {
            "content": trials_csv(trials),
            "filename": f"lastbyte-{which['endpoint']}-{which['profile']}-trials.csv",
        }


def clicked_cell(heatmap: Json, axis_key: str, key: str, click: Json) -> Json | None:
    """The cell under a click on the heatmap with a panel key."""
    point = click["points"][0]
    for panel in panels(heatmap, AXES.get(axis_key, LOSS)):
        if panel.key == key:
            return panel.cell_at(point["y"], point["x"])
    return None


def find_cell(heatmap: Json, which: Json) -> tuple[str, Json] | None:
    """Provider and cell by endpoint and profile."""
    for provider, cell in all_cells(heatmap):
        if (cell["endpoint"], cell["profile"]) == (which["endpoint"], which["profile"]):
            return provider, cell
    return None

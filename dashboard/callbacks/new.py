"""The form: estimate while typing, errors at their fields, on to the campaign."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem, Json
from dashboard.links import campaign_path
from dashboard.pages.new import FIELDS, errors_by_field, estimate_view
from dashboard.pages.shell import state_box

COSTS = ("endpoints", "profiles", "clients", "rounds", "aa", "capture", "max_rounds")
"""Fields on which the estimate depends."""


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(Output(ids.NEW_ESTIMATE, "children"), *(Input(FIELDS[field], "value") for field in COSTS))
    def show_estimate(*values: Any) -> Any:
        body = request_body(dict(zip(COSTS, values, strict=True)))
        if not all(body.get(key) for key in ("endpoints", "profiles", "clients", "rounds")):
            return estimate_view(None)
        try:
            return estimate_view(api.estimate(body))
        except ApiDown as exc:
            return state_box("No estimate", f"{exc} It comes with your next change.", None, "error")
        except ApiProblem as exc:
            at_field, rest = errors_by_field(exc)
            return state_box("This can't be measured so", " ".join([*at_field.values(), *rest]), None, "error")

    @app.callback(
        Output(ids.URL, "pathname"),
        Output(ids.NEW_PROBLEM, "children"),
        *(Output(ident, "error") for ident in FIELDS.values()),
        Input(ids.NEW_START, "n_clicks"),
        *(State(ident, "value") for ident in FIELDS.values()),
        prevent_initial_call=True,
        running=[(Output(ids.NEW_START, "disabled"), True, False)],
    )
    def start(clicks: int | None, *values: Any) -> tuple[Any, ...]:
        none: list[Any] = [None] * len(FIELDS)
        if not clicks:
            return no_update, no_update, *([no_update] * len(FIELDS))
        try:
            campaign = api.create_campaign(request_body(dict(zip(FIELDS, values, strict=True))))
        except ApiDown as exc:
            box = state_box("Not started", f"{exc} Nothing is lost: try again in a moment.", None, "error")
            return no_update, box, *none
        except ApiProblem as exc:
            at_field, rest = errors_by_field(exc)
            box = state_box("Not started", " ".join(rest) or "See the marked fields.", None, "error")
            return no_update, box, *(at_field.get(field) for field in FIELDS)
        return campaign_path(campaign["id"]), None, *none


def request_body(values: Json) -> Json:
    """The body for ``POST /campaigns``; what was left empty is left out, so that the API's defaults hold."""
    lists = {key: values[key] or [] for key in ("endpoints", "profiles", "clients")}
    rest = {key: value for key, value in values.items() if key not in lists and value not in (None, "", [])}
    return {**lists, **rest}

"""The form for schedules: the cron expression in words while typing, then the schedule."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, ctx, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem, Json
from dashboard.pages.place import Place
from dashboard.pages.schedules import preview_view
from dashboard.pages.shell import state_box

FIELDS = ("name", "campaign", "cron", "time_zone", "missed", "overlap")


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(
        Output(ids.SCHEDULE_PREVIEW, "children"),
        Input(ids.schedule_form("cron"), "value"),
        Input(ids.schedule_form("time_zone"), "value"),
        State(ids.PLACE, "data"),
    )
    def explain(cron: str, zone: str, data: dict[str, Any]) -> Any:
        try:
            preview = api.preview_schedule({"cron": cron or " ", "time_zone": zone or "UTC"})
        except (ApiDown, ApiProblem) as exc:
            return state_box("Not a time yet", said(exc), None, "error")
        return preview_view(preview, Place.from_store(data).zone)

    @app.callback(
        Output(ids.SCHEDULE_PROBLEM, "children"),
        Output(ids.TICK, "n_intervals", allow_duplicate=True),
        Input(ids.SCHEDULE_CREATE, "n_clicks"),
        *(State(ids.schedule_form(field), "value") for field in FIELDS),
        State(ids.TICK, "n_intervals"),
        prevent_initial_call=True,
    )
    def create(clicks: int | None, *values: Any) -> tuple[Any, Any]:
        if not clicks or ctx.triggered_id != ids.SCHEDULE_CREATE:
            return no_update, no_update
        *given, ticks = values
        form = dict(zip(FIELDS, given, strict=True))
        try:
            api.create_schedule(request_body(form, api.campaign_spec(form["campaign"])))
        except (ApiDown, ApiProblem) as exc:
            return state_box("Not created", said(exc), None, "error"), no_update
        return None, (ticks or 0) + 1


def request_body(form: Json, spec: Json) -> Json:
    """The body for ``POST /schedules``: each run gets its own name and seed."""
    template = {key: value for key, value in spec.items() if key not in ("name", "seed") and value is not None}
    return {
        "name": form["name"] or f"repeat of {spec.get('name') or 'a campaign'}",
        "template": template,
        **{key: form[key] for key in ("cron", "time_zone", "missed", "overlap") if form[key]},
    }


def said(error: ApiDown | ApiProblem) -> str:
    """What the API says, field by field."""
    if isinstance(error, ApiProblem) and error.errors:
        return " ".join(
            f"{item['field']}: {item['message']}" + (f" {item['remedy']}" if item.get("remedy") else "")
            for item in error.errors
        )
    return str(error)

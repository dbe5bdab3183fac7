"""The form for schedules: the cron expression in words while typing, then the schedule, new or changed."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem, Json
from dashboard.pages.place import Place
from dashboard.pages.schedule_form import MEASURED, expanded
from dashboard.pages.schedules import preview_view
from dashboard.pages.shell import state_box

FIELDS = ("name", "cron", "time_zone", "missed", "overlap", *MEASURED)


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(
        Output(ids.SCHEDULE_PREVIEW, "children"),
        Input(ids.schedule_form("cron"), "value"),
        Input(ids.schedule_form("time_zone"), "value"),
        *(Input(ids.schedule_form(field), "value") for field in MEASURED),
        State(ids.PLACE, "data"),
    )
    def explain(cron: str, zone: str, *rest: Any) -> Any:
        *measured, data = rest
        asked = {"cron": cron or " ", "time_zone": zone or "UTC"}
        template = dict(zip(MEASURED, measured, strict=True))
        try:
            preview = api.preview_schedule({**asked, "template": template} if all(measured) else asked)
        except (ApiDown, ApiProblem) as exc:
            return state_box("This can't be scheduled yet", said(exc), None, "error")
        return preview_view(preview, Place.from_store(data).zone)

    @app.callback(
        Output(ids.SCHEDULE_TEMPLATE, "data"),
        Output(ids.schedule_form("name"), "value"),
        *(Output(ids.schedule_form(field), "value") for field in MEASURED),
        Input(ids.schedule_form("campaign"), "value"),
        State(ids.schedule_form("name"), "value"),
        prevent_initial_call=True,
    )
    def take_from(campaign_id: str | None, name: str | None) -> tuple[Any, ...]:
        stay = (no_update,) * (2 + len(MEASURED))
        if not campaign_id:
            return stay
        try:
            spec = api.campaign_spec(campaign_id)
            clients = expanded(spec["clients"], api.clients())
        except (ApiDown, ApiProblem):
            return stay
        named = no_update if name else f"repeat of {spec.get('name') or 'a campaign'}"
        return repeatable(spec), named, spec["endpoints"], spec["profiles"], clients, spec["rounds"]

    @app.callback(
        Output(ids.SCHEDULE_PROBLEM, "children"),
        Output(ids.TICK, "n_intervals", allow_duplicate=True),
        Output(ids.URL, "search", allow_duplicate=True),
        Input(ids.SCHEDULE_SAVE, "n_clicks"),
        *(State(ids.schedule_form(field), "value") for field in FIELDS),
        State(ids.SCHEDULE_TEMPLATE, "data"),
        State(ids.SCHEDULE_EDITED, "data"),
        State(ids.TICK, "n_intervals"),
        prevent_initial_call=True,
        running=[(Output(ids.SCHEDULE_SAVE, "disabled"), True, False)],
    )
    def save(clicks: int | None, *values: Any) -> tuple[Any, Any, Any]:
        if not clicks:
            return (no_update,) * 3
        *given, template, edited, ticks = values
        body = request_body(dict(zip(FIELDS, given, strict=True)), template)
        try:
            if edited is not None:
                api.change_schedule(int(edited), **body)
                return None, no_update, ""  # leaves the form, and the page is drawn anew
            api.create_schedule(body)
        except (ApiDown, ApiProblem) as exc:
            return state_box("Not saved" if edited is not None else "Not created", said(exc), None, "error"), *(
                (no_update,) * 2
            )
        return f"Created: {body['name']}.", (ticks or 0) + 1, no_update


def repeatable(spec: Json) -> Json:
    """A campaign as a template: each run gets its own name and seed."""
    return {key: value for key, value in spec.items() if key not in ("name", "seed")}


def request_body(form: Json, template: Json) -> Json:
    """The body for ``POST`` and ``PATCH``: the template with what the form says of it."""
    kept = {key: value for key, value in template.items() if key not in MEASURED and value is not None}
    measured = {key: form[key] or [] for key in MEASURED if key != "rounds"}
    rounds = {"rounds": form["rounds"]} if form["rounds"] else {}
    when = {key: form[key] for key in ("cron", "time_zone", "missed", "overlap") if form[key]}
    return {"name": (form["name"] or "").strip(), "template": {**kept, **measured, **rounds}, **when}


def said(error: ApiDown | ApiProblem) -> str:
    """What the API says, field by field."""
    if isinstance(error, ApiProblem) and error.errors:
        return " ".join(
            f"{item['field']}: {item['message']}" + (f" {item['remedy']}" if item.get("remedy") else "")
            for item in error.errors
        )
    return str(error)

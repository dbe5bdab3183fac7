"""Campaigns that start by the clock: what comes, what came last, and a form for a new one."""

from __future__ import annotations

import json
from typing import Any

from dash import dcc, html

from dashboard.client import ApiClient, Json
from dashboard.formatting import plural
from dashboard.links import campaign_path
from dashboard.pages import parts
from dashboard.pages.place import Place
from dashboard.pages.schedule_form import MISSED, OVERLAP, Catalogue, form
from dashboard.pages.shell import state_box
from dashboard.pages.view import Drawn

OUTCOMES = {"started": "started", "queued": "waits for the one before", "skipped": "skipped", "failed": "failed"}


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    found = api.schedules()
    edited = next((s for s in found if str(s["id"]) == place.query.get("edit")), None)
    return Drawn(
        seen=json.dumps([found, place.query.get("edit")]),
        head=html.Div(
            [
                html.H1("Schedules"),
                html.P("Campaigns that start by the clock, on a worker of their vantage.", className="lb-meta"),
            ]
        ),
        body=lambda: body(found, edited, api, place),
        live=True,
    )


def body(found: list[Json], edited: Json | None, api: ApiClient, place: Place) -> list[Any]:
    """The schedules and the form below them; a form that edits stands above."""
    cards = html.Div([schedule_card(s, place) for s in found], className="lb-deck") if found else _none()
    filled = form(Catalogue.of(api), place.zone, edited)
    return [filled, cards] if edited else [cards, filled]


def _none() -> html.Div:
    return state_box(
        "No schedule yet",
        "Say below what should be measured again and again, and when.",
    )


def schedule_card(schedule: Json, place: Place) -> html.Section:
    """One schedule."""
    ident, name = str(schedule["id"]), schedule["name"]
    template, enabled = schedule["template"], schedule["enabled"]
    coming = [parts.time_tag(run["at"], place.zone) for run in schedule["next_runs"]]
    facts: list[tuple[str, Any]] = [
        ("When", [schedule["words"] or "?", " (", html.Code(schedule["cron"]), f", {schedule['time_zone']})"]),
        ("Next", parts.joined(*coming) if enabled else "disabled: starts only by hand"),
        ("Last", last_run(schedule.get("last_run"), place)),
        ("What", what(template)),
        ("Policy", f"missed: {dict(MISSED)[schedule['missed']]}; overlapping: {dict(OVERLAP)[schedule['overlap']]}"),
    ]
    buttons = [
        parts.button("run", ident, "Run now", name),
        dcc.Link(
            ["Edit", html.Span(f" {name}", className="lb-unseen")],
            href=f"/schedules?edit={ident}",
            className="lb-button lb-button-quiet",
        ),
        parts.button("disable", ident, "Disable", name) if enabled else parts.button("enable", ident, "Enable", name),
        parts.button("forget", ident, "Delete", name),
    ]
    return html.Section(
        [
            html.Div([html.H2(name), parts.badge("enabled" if enabled else "disabled")], className="lb-title-row"),
            html.Dl([part for term, value in facts for part in (html.Dt(term), html.Dd(value))], className="lb-facts"),
            *(html.P(note, className="lb-warning") for note in schedule["clock_notes"]),
            html.Div(buttons, className="lb-actions lb-card-actions"),
        ],
        className="lb-card",
    )


def last_run(run: Json | None, place: Place) -> Any:
    """What became of the last due time."""
    if run is None:
        return "never yet"
    said: list[Any] = [parts.time_tag(run["due_at"], place.zone), f" {OUTCOMES.get(run['outcome'], run['outcome'])}"]
    if run["campaign_id"]:
        said += [": ", dcc.Link("campaign", href=campaign_path(run["campaign_id"])), f" {run['campaign_state'] or ''}"]
    return [*said, f" ({run['reason']})"] if run["reason"] else said


def what(template: Json) -> str:
    """The campaign that is started, in a line."""
    counts = ", ".join(plural(len(template.get(key) or []), key[:-1]) for key in ("endpoints", "profiles", "clients"))
    return f"{counts}, {plural(template.get('rounds') or 10, 'round')}"


def preview_view(preview: Json, zone: str) -> Any:
    """The expression in words, its next runs, what the clocks do to it, and how much each run measures."""
    coming = [parts.time_tag(run["at"], zone) for run in preview["next_runs"]]
    planned = preview.get("planned")
    return [
        html.P([html.Strong(preview["words"]), ". Next: ", *(parts.joined(*coming) or [])]),
        html.P(
            f"Each run: {plural(planned['cells'], 'cell')}, {plural(planned['trials'], 'trial')}.", className="lb-muted"
        )
        if planned
        else None,
        *(html.P(note, className="lb-warning") for note in preview["clock_notes"]),
    ]

"""Campaigns that start by the clock: what comes, what came last, and a form for a new one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.attributes import aria
from dashboard.client import ApiClient, Json
from dashboard.formatting import plural
from dashboard.links import campaign_path
from dashboard.pages import parts
from dashboard.pages.place import Place
from dashboard.pages.shell import state_box
from dashboard.pages.view import Drawn

OUTCOMES = {"started": "started", "queued": "waits for the one before", "skipped": "skipped", "failed": "failed"}
MISSED = (("skip", "skip them"), ("catch-up", "catch up with one campaign"))
OVERLAP = (("skip", "skip it"), ("queue", "wait until it is over"))


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    found = api.schedules()
    return Drawn(
        seen=json.dumps([[s[k] for k in ("id", "name", "cron", "enabled", "next_due_at", "last_run")] for s in found]),
        head=html.Div(
            [
                html.H1("Schedules"),
                html.P("Campaigns that start by the clock, on a worker of their vantage.", className="lb-meta"),
            ]
        ),
        body=lambda: [
            html.Div([schedule_card(s, place) for s in found], className="lb-deck") if found else _none(),
            _form(api.campaigns()["items"], place),
        ],
        live=True,
    )


def _none() -> html.Div:
    return state_box(
        "No schedule yet",
        "Choose a campaign below whose measurements should be repeated, and when.",
    )


def schedule_card(schedule: Json, place: Place) -> html.Section:
    """One schedule."""
    ident, name = str(schedule["id"]), schedule["name"]
    template, enabled = schedule["template"], schedule["enabled"]
    coming = [parts.time_tag(run["at"], place.zone) for run in schedule["next_runs"]]
    facts: list[tuple[str, Any]] = [
        ("When", [schedule["words"] or "?", " (", html.Code(schedule["cron"]), f", {schedule['time_zone']})"]),
        ("Next", parts.joined(*coming[:3]) if enabled else "disabled: starts only by hand"),
        ("Last", last_run(schedule.get("last_run"), place)),
        ("What", what(template)),
        ("Policy", f"missed: {dict(MISSED)[schedule['missed']]}; overlapping: {dict(OVERLAP)[schedule['overlap']]}"),
    ]
    buttons = [
        parts.button("run", ident, "Run now", name),
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


def _form(campaigns: Sequence[Json], place: Place) -> html.Section:
    """Repeat a campaign that is there; the cron expression is explained while it is typed."""
    own = [c for c in campaigns if not c.get("source")]
    if not own:
        return html.Section(
            [
                html.H2("New schedule"),
                html.P(
                    ["A schedule repeats a campaign. ", dcc.Link("Create one first", href="/new"), ", then come back."]
                ),
            ],
            className="lb-card",
        )
    field = ids.schedule_form
    return html.Section(
        [
            html.H2("New schedule"),
            html.Div(
                [
                    dmc.TextInput(id=field("name"), label="Name", description="For people.", placeholder="every night"),
                    dmc.Select(
                        id=field("campaign"),
                        label="What to repeat",
                        description="Its endpoints, profiles, clients, rounds.",
                        data=[{"value": c["id"], "label": c["name"]} for c in own],
                        value=own[0]["id"],
                        allowDeselect=False,
                    ),
                    dmc.TextInput(
                        id=field("cron"),
                        label="When (cron)",
                        description="Minute, hour, day, month, weekday.",
                        value="15 3 * * *",
                    ),
                    dmc.TextInput(
                        id=field("time_zone"), label="Time zone", description="Whose clock counts.", value=place.zone
                    ),
                    dmc.Select(
                        id=field("missed"),
                        label="Times missed while off",
                        description="Nothing was running.",
                        data=[{"value": k, "label": t} for k, t in MISSED],
                        value="skip",
                        allowDeselect=False,
                    ),
                    dmc.Select(
                        id=field("overlap"),
                        label="While one still runs",
                        description="The campaign before.",
                        data=[{"value": k, "label": t} for k, t in OVERLAP],
                        value="skip",
                        allowDeselect=False,
                    ),
                ],
                className="lb-form-row",
            ),
            html.Div(id=ids.SCHEDULE_PREVIEW, role="status", className="lb-preview"),
            html.Div(id=ids.SCHEDULE_PROBLEM),
            html.Button(
                "Create the schedule",
                id=ids.SCHEDULE_CREATE,
                className="lb-button lb-button-primary",
                type="button",
            ),
        ],
        className="lb-card lb-schedule-form",
        **aria(label="New schedule"),
    )


def preview_view(preview: Json, zone: str) -> Any:
    """The expression in words, its next runs, and what the clocks do to it."""
    coming = [parts.time_tag(run["at"], zone) for run in preview["next_runs"]]
    return [
        html.P([html.Strong(preview["words"]), ". Next: ", *(parts.joined(*coming) or [])]),
        *(html.P(note, className="lb-warning") for note in preview["clock_notes"]),
    ]

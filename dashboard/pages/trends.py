"""Results over the nights: medians with bands, changes of level, notes of the viewers."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.client import ApiClient, Json
from dashboard.figures.trends import name_of, shown_value, trend_figure
from dashboard.formatting import plural, signed_pct, when
from dashboard.links import campaign_path
from dashboard.pages.card import figure_card
from dashboard.pages.place import Place
from dashboard.pages.shell import state_box
from dashboard.pages.view import Choice, Drawn, csv_href, value_in, values_in

CHANGES_FROM = 10
"""Points below which no change of level is looked for (lastbyte.stats.changepoints)."""
SPANS = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("all", "everything"))
SHOW = (("%", "difference of H3 from H2 (%)"), ("ms", "times of each client (ms)"))
MOST_SERIES = 2
"""Endpoints and profiles shown unless more are chosen."""
MOST_ALLOWED = 20
MOST = "measured most"
"""What an empty choice means."""


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    head = html.Div(
        [
            html.H1("Trends"),
            html.P("The same measurement, campaign after campaign: one point each.", className="lb-meta"),
        ]
    )
    measured = [c for c in api.campaigns()["items"] if c["trials_done"]]
    if not measured:
        return Drawn("empty", head, _nothing, live=True)
    # What was measured most often comes first: that is what has a trend.
    endpoints = [e for e, _ in Counter(e for c in measured for e in c["endpoints"]).most_common()]
    profiles = [p for p, _ in Counter(p for c in measured for p in c["profiles"]).most_common()]
    chosen = values_in(place, "endpoints", endpoints)[:MOST_ALLOWED] or endpoints[:MOST_SERIES]
    conditions = values_in(place, "profiles", profiles)[:MOST_ALLOWED] or profiles[:MOST_SERIES]
    span = value_in(place, "span", [key for key, _ in SPANS], "90")
    unit = value_in(place, "show", [key for key, _ in SHOW], "%")
    since = None if span == "all" else (datetime.now(UTC) - timedelta(days=int(span))).isoformat()
    found = api.trends(chosen, conditions, since)
    series = [s for s in found["series"] if s["unit"] == unit and "@" not in s["client"]]
    return Drawn(
        seen=json.dumps([found["cells"], [a["id"] for a in found["annotations"]], place.query, place.scheme]),
        head=head,
        controls=lambda: [
            Choice("endpoints", "Endpoints", [(e, e) for e in endpoints], ",".join(chosen), many=True, none=MOST),
            Choice("profiles", "Profiles", [(p, p) for p in profiles], ",".join(conditions), many=True, none=MOST),
            Choice("show", "Show", SHOW, unit),
            Choice("span", "Last", SPANS, span),
        ],
        body=lambda: body(place, series, found),
        live=True,
        files={"trends": lambda: trends_csv(found["series"])},
    )


def body(place: Place, series: Sequence[Json], found: Json) -> list[Any]:
    """A figure per endpoint and profile, the changes in words, and a form for notes."""
    groups: dict[tuple[str, str, str], list[Json]] = {}
    for item in series:
        groups.setdefault((item["endpoint"], item["profile"], item["vantage"]), []).append(item)
    cards = [
        figure_card(
            f"trend {endpoint} {profile} {vantage}",
            f"{endpoint}, {profile}",
            trend_figure(mine, notes_of(found["annotations"], endpoint), place.scheme, place.zone),
            note=_note(mine, vantage),
            csv=csv_href(place, "trends"),
        )
        for (endpoint, profile, vantage), mine in groups.items()
    ]
    few = [item for item in series if len(item["points"]) < 3]
    return [
        html.P("Older cells were not read: narrow the choice.", className="lb-warning") if found["truncated"] else None,
        state_box("No such series", "Nothing with these endpoints and profiles was measured in this time.")
        if not cards
        else html.P(
            "Some series have one or two points only. A schedule makes a trend of them.", className="lb-warning"
        )
        if few
        else None,
        html.Div(cards, className="lb-deck"),
        changes_list(series, place),
        _note_form(),
    ]


def notes_of(annotations: Sequence[Json], endpoint: str) -> list[Json]:
    """The notes that concern an endpoint, or everything."""
    return [note for note in annotations if note["endpoint"] in (None, endpoint)]


def _note(series: Sequence[Json], vantage: str) -> str:
    unproven = sum(item["unproven"] for item in series)
    left = f" {plural(unproven, 'cell')} with an unproven link left out." if unproven else ""
    above = "Above zero H3 is slower. " if series[0]["unit"] == "%" else ""
    return f"Vantage {vantage}. {above}Band: 95 % interval. Click a point for its cell.{left}"


def changes_list(series: Sequence[Json], place: Place) -> html.Section:
    """Every change of level, with the campaigns before and after."""
    lines = []
    for item in series:
        points = item["points"]
        for change in item["changes"]:
            at = next((i for i, p in enumerate(points) if p["at"] == change["at"]), None)
            if at is None:
                continue
            before = points[at - 1] if at else None
            bounds = (
                f" ({signed_pct(change['ci_low_pct'])} to {signed_pct(change['ci_high_pct'])})"
                if change["ci_low_pct"] is not None and change["ci_high_pct"] is not None
                else ""
            )
            where = f"{item['endpoint']}, {item['profile']}, {name_of(item)}"
            size = signed_pct(change["shift_pct"]) if change["shift_pct"] is not None else "?"
            lines.append(
                html.Li(
                    [
                        html.Strong(when(change["at"], place.zone)),
                        f": {where}: {size}{bounds}, to {shown_value(item, points[at]['value'])}. ",
                        dcc.Link("before", href=campaign_path(before["campaign_id"])) if before else "",
                        " · " if before else "",
                        dcc.Link("after", href=campaign_path(change["campaign_id"])),
                    ]
                )
            )
    return html.Section(
        [html.H2("Changes of level"), html.Ul(lines) if lines else html.P(_no_change(series), className="lb-muted")],
        className="lb-card",
    )


def _no_change(series: Sequence[Json]) -> str:
    longest = max((len(item["points"]) for item in series), default=0)
    if longest < CHANGES_FROM:
        return f"Looked for from {CHANGES_FROM} points on; the longest series here has {longest}."
    return "None found."


def _note_form() -> html.Section:
    return html.Section(
        [
            html.H2("Note something"),
            html.P("It stands as a dotted line in every figure here.", className="lb-muted lb-card-note"),
            html.Div(
                [
                    dmc.DateTimePicker(id=ids.NOTE_AT, label="When (your time)", w=230, clearable=True),
                    dmc.TextInput(id=ids.NOTE_TEXT, label="What", placeholder="server updated", w=320),
                    html.Button("Keep the note", id=ids.NOTE_SAVE, className="lb-button", type="button"),
                    html.Span(id=ids.NOTE_STATE, role="status"),
                ],
                className="lb-actions lb-bottom",
            ),
        ],
        className="lb-card",
    )


def trends_csv(series: Sequence[Json]) -> str:
    """One line per point."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    keys = ("endpoint", "profile", "vantage", "client", "baseline", "unit")
    fields = ("campaign_id", "cell_id", "at", "n", "value", "ci_low", "ci_high")
    writer.writerow([*keys, *fields])
    for item in series:
        writer.writerows([*(item[k] for k in keys), *(p[f] for f in fields)] for p in item["points"])
    return out.getvalue()


def _nothing() -> html.Div:
    return state_box(
        "Nothing measured yet",
        "Trends need the same measurement several times: make a schedule.",
        dcc.Link("Schedules", href="/schedules", className="lb-button lb-button-primary"),
    )

"""One campaign: progress, what it waits for, the answer in sentences, heatmaps per provider, and every cell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.attributes import aria
from dashboard.client import ApiClient, Json
from dashboard.export import heatmap_csv
from dashboard.figures.grid import CONDITIONS
from dashboard.formatting import number, plural
from dashboard.links import campaign_path
from dashboard.merge import labelled
from dashboard.pages import parts
from dashboard.pages.grids import axis_of, choices, mode_of, section
from dashboard.pages.place import Place
from dashboard.pages.view import Drawn, link


def draw(api: ApiClient, place: Place, campaign_id: str) -> Drawn:
    """The page."""
    campaign = api.campaign(campaign_id)
    query = place.query

    @cache
    def heatmap() -> Json:
        found = api.heatmap(campaign_id, query.get("baseline"), query.get("candidate"), mode_of(place))
        return labelled(campaign, found)

    running = api.cells(campaign_id, state="running") if campaign["state"] == "running" else []
    return Drawn(
        seen=fingerprint(campaign, place),
        head=head(campaign, place.zone, running),
        controls=lambda: choices(place, heatmap(), campaign["clients"], CONDITIONS),
        body=lambda: [*section(place, heatmap(), axis_of(place, heatmap())), label_form(campaign)],
        live=campaign["state"] not in parts.IS_OVER,
        files={"heatmap": lambda: heatmap_csv(heatmap())},
    )


def fingerprint(campaign: Json, place: Place) -> str:
    """Changes exactly when something on the page would."""
    keys = ("name", "state", "trials_done", "trials_failed", "cells_done", "waiting_for", "labels")
    return json.dumps([[campaign.get(key) for key in keys], place.query, place.scheme])


def head(campaign: Json, zone: str, running: Sequence[Json] = ()) -> html.Div:
    """Name, state, progress and what was asked for."""
    failed = campaign["trials_failed"]
    times: Any = [
        "created ",
        parts.time_tag(campaign["created_at"], zone),
        *([", finished ", parts.time_tag(campaign["finished_at"], zone)] if campaign["finished_at"] else []),
    ]
    return html.Div(
        [
            dcc.Link("← Campaigns", href="/campaigns", className="lb-back"),
            html.Div(
                [
                    html.H1(campaign["name"]),
                    parts.badge(campaign["state"]),
                    *parts.labels(campaign),
                    html.Div(parts.actions(campaign), className="lb-push lb-actions"),
                ],
                className="lb-title-row",
            ),
            html.P(
                parts.joined(
                    html.Span(plural(campaign["cells_planned"], "cell")),
                    html.Span(rounds(campaign)),
                    html.Span(", ".join(campaign["clients"])),
                    html.Span(f"vantage {campaign['vantage']}"),
                    html.Span(f"seed {campaign['seed']}"),
                    html.Span(times),
                    html.Span(dcc.Link("clients side by side", href=link("/clients", campaign=campaign["id"])))
                    if sum("-h3" in c for c in campaign["clients"]) > 1
                    else None,
                ),
                className="lb-meta",
            ),
            source_note(campaign),
            html.Div(
                [
                    parts.progress_bar(campaign),
                    html.Span(
                        parts.joined(
                            f"{parts.left(campaign)} left"
                            if campaign["state"] == "running" and campaign["eta_s"] is not None
                            else None,
                            "waiting for a worker" if campaign["state"] == "queued" else None,
                            html.Span(f"{plural(failed, 'trial')} failed", className="lb-failures") if failed else None,
                            saved(campaign),
                        )
                    ),
                ],
                className="lb-head-progress",
            ),
            *(html.P(now(cell), className="lb-muted lb-now") for cell in running),
            *(
                html.P([html.Strong("Waiting. "), reason], className="lb-warning", role="status")
                for reason in campaign.get("waiting_for") or ()
            ),
        ]
    )


def label_form(campaign: Json) -> html.Details:
    """Words by which a campaign is found again, to edit."""
    return html.Details(
        [
            html.Summary("Labels"),
            html.Div(
                [
                    dmc.TagsInput(
                        id=ids.LABELS,
                        value=parts.label_texts(campaign),
                        placeholder="a word, then Enter",
                        maw=480,
                        **aria(label="Labels"),
                    ),
                    html.Button("Save the labels", id=ids.LABELS_SAVE, className="lb-button", type="button"),
                    html.Span(id=ids.LABELS_STATE, role="status"),
                ],
                className="lb-actions",
            ),
        ],
        className="lb-details",
    )


def now(cell: Json) -> str:
    """What is measured at this moment."""
    return (
        f"Now: {cell['endpoint']} under {cell['profile']}, trial {cell['trials_done'] + 1} of {cell['trials_planned']}"
    )


def rounds(campaign: Json) -> str:
    """How many rounds each cell has."""
    most = campaign.get("max_rounds")
    if most is None:
        return f"{plural(campaign['rounds'], 'round')} and a warm-up"
    width = campaign.get("target_width_pct")
    until = f" until the interval is {number(width)} points wide" if width else " until the answer is known"
    return f"{campaign['rounds']} to {plural(most, 'round')}{until}"


def saved(campaign: Json) -> str | None:
    """What stopping early has saved."""
    if not campaign.get("rounds_saved"):
        return None
    trials = plural(campaign["trials_saved"], "trial")
    return f"{plural(campaign['rounds_saved'], 'round')} ({trials}) not needed: answer known"


def source_note(campaign: Json) -> html.P | None:
    """Where imported results came from."""
    source = campaign.get("source")
    if not source:
        return None
    said = "; ".join(
        f"{key.replace('_', ' ')}: {value}" for key, value in source.items() if isinstance(value, str | int | float)
    )
    return html.P([html.Strong("Imported, not measured here. "), said], className="lb-warning", role="note")


def back(campaign: Json) -> dcc.Link:
    """From a page below to the campaign."""
    return dcc.Link(f"← {campaign['name']}", href=campaign_path(campaign["id"]), className="lb-back")

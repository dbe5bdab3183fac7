"""The campaign list."""

from __future__ import annotations

import json

from dash import dcc, html

from dashboard.attributes import data
from dashboard.client import ApiClient, Json
from dashboard.formatting import plural
from dashboard.pages import parts
from dashboard.pages.place import Place
from dashboard.pages.shell import state_box
from dashboard.pages.view import Drawn


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    answer = api.campaigns()
    return Drawn(
        seen=fingerprint(answer) + place.scheme,
        head=html.Div(html.H1("Campaigns"), className="lb-title-row"),
        body=lambda: campaign_list(answer, place.zone),
        live=True,
    )


def fingerprint(answer: Json) -> str:
    """Changes when something on the list does."""
    keys = ("id", "name", "state", "trials_done", "trials_failed", "cells_done", "eta_s")
    return json.dumps([[c[key] for key in keys] for c in answer["items"]])


def campaign_list(answer: Json, zone: str) -> html.Div:
    """Table of campaigns, newest first; a card per campaign on narrow screens (see the style sheet)."""
    campaigns = answer["items"]
    if not campaigns:
        return state_box(
            "No campaign yet",
            "A campaign fetches each endpoint with HTTP/2 and HTTP/3 through links that are shaped on purpose, "
            "and draws where HTTP/3 is faster.",
            dcc.Link("Schedule the first one", href="/new", className="lb-button lb-button-primary"),
        )
    heads = ("Campaign", "State", "Progress", "Time left", "Failed", "Cells", "Created", "Actions")
    more = answer["total"] - len(campaigns)
    return html.Div(
        [
            html.Table(
                [
                    html.Thead(html.Tr([html.Th(head, scope="col") for head in heads])),
                    html.Tbody([_row(campaign, zone) for campaign in campaigns]),
                ],
                className="lb-table lb-cards",
            ),
            html.P(f"{plural(more, 'older campaign')} not shown." if more > 0 else None, className="lb-muted"),
        ]
    )


def _row(campaign: Json, zone: str) -> html.Tr:
    link = dcc.Link(campaign["name"], href=f"/campaigns/{campaign['id']}", className="lb-row-link")
    cells = f"{campaign['cells_done']} of {campaign['cells_planned']}"
    return html.Tr(
        [
            html.Td([link, *parts.labels(campaign)], className="lb-cell-name"),
            html.Td(parts.badge(campaign["state"])),
            html.Td(parts.progress_bar(campaign)),
            html.Td(parts.left(campaign), **data(label="Time left")),
            html.Td(parts.failures(campaign["trials_failed"]), **data(label="Failed")),
            html.Td(cells, **data(label="Cells")),
            html.Td(parts.time_tag(campaign["created_at"], zone), **data(label="Created")),
            html.Td(html.Div(parts.actions(campaign, short=True), className="lb-actions"), className="lb-cell-action"),
        ]
    )

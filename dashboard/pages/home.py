"""The campaign list."""

from __future__ import annotations

import json

from dash import dcc, html

from dashboard import ids
from dashboard.attributes import data
from dashboard.client import Json
from dashboard.formatting import plural
from dashboard.pages import parts
from dashboard.pages.shell import Place, state_box


def page(answer: Json, place: Place, poll_ms: int) -> html.Div:
    """The page with its first content."""
    return html.Div(
        [
            html.Div(html.H1("Campaigns"), className="lb-title-row"),
            html.Div(id=ids.HOME_BANNER),
            html.Div(campaign_list(answer, place.zone), id=ids.HOME_LIST),
            dcc.Store(id=ids.HOME_SEEN, data=fingerprint(answer)),
            dcc.Interval(id=ids.HOME_TICK, interval=poll_ms),
            parts.cancel_dialog(),
        ]
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
    heads = ("Campaign", "State", "Progress", "Time left", "Failed", "Cells", "Created", "")
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
            html.Td(link, className="lb-cell-name"),
            html.Td(parts.badge(campaign["state"])),
            html.Td(parts.progress_bar(campaign)),
            html.Td(parts.left(campaign), **data(label="Time left")),
            html.Td(parts.failures(campaign["trials_failed"]), **data(label="Failed")),
            html.Td(cells, **data(label="Cells")),
            html.Td(parts.time_tag(campaign["created_at"], zone), **data(label="Created")),
            html.Td(parts.cancel_button(campaign), className="lb-cell-action"),
        ]
    )

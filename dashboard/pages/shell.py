"""The frame round every page: header, help at the foot, and the states that every page shares."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.attributes import aria
from dashboard.client import ApiDown, ApiProblem
from dashboard.figures.palette import FONT
from dashboard.formatting import when
from dashboard.words import CONCEPTS

THEME = {
    "fontFamily": FONT,
    "headings": {"fontFamily": FONT, "fontWeight": "650"},
    "primaryColor": "indigo",
    "defaultRadius": "md",
}


NAVIGATION = (
    ("/", "Heatmaps"),
    ("/campaigns", "Campaigns"),
    ("/schedules", "Schedules"),
    ("/clients", "Clients"),
    ("/trends", "Trends"),
    ("/crossover", "Crossover"),
    ("/compare", "Compare"),
    ("/vantages", "Vantages"),
)
"""Path and name of the pages that are reached from anywhere."""


def frame() -> dmc.MantineProvider:
    """The layout of the application; pages come into its main part."""
    return dmc.MantineProvider(
        defaultColorScheme="auto",
        theme=THEME,
        children=[
            dcc.Location(id=ids.URL, refresh="callback-nav"),
            dcc.Store(id=ids.PLACE),
            dcc.Interval(id=ids.RETRY, interval=2000, disabled=True),
            html.A("Skip to the content", href=f"#{ids.PAGE}", className="lb-skip"),
            _header(),
            html.Main(id=ids.PAGE, className="lb-main", children=loading()),
            _footer(),
        ],
    )


def _header() -> html.Header:
    return html.Header(
        className="lb-header",
        children=[
            dcc.Link(
                href="/",
                className="lb-brand",
                children=[
                    html.Span("lastbyte", className="lb-brand-name"),
                    html.Span("Is HTTP/3 faster than HTTP/2 here?", className="lb-brand-claim"),
                ],
            ),
            html.Nav(
                className="lb-nav",
                children=[
                    *(dcc.Link(label, href=path, className="lb-nav-link") for path, label in NAVIGATION),
                    dcc.Link("New campaign", href="/new", className="lb-button lb-button-primary"),
                ],
                **aria(label="Main"),
            ),
        ],
    )


def _footer() -> html.Footer:
    return html.Footer(
        className="lb-footer",
        children=html.Details(
            [
                html.Summary("What the words mean: TTLB, the percentage, the verdicts, unproven, p and q, crossover"),
                html.Dl([part for term, text in CONCEPTS for part in (html.Dt(term), html.Dd(text))]),
            ]
        ),
    )


def loading() -> html.Div:
    """Shown for the moment before the first answer."""
    return html.Div("Loading …", className="lb-state", role="status")


def state_box(title: str, body: Any, action: Any = None, tone: str = "plain") -> html.Div:
    """An empty or error state: what is the case, and what to do next."""
    return html.Div(
        [html.H2(title), html.P(body), *([action] if action is not None else [])],
        className=f"lb-state lb-state-{tone}",
        role="alert" if tone == "error" else "status",
    )


def api_down_page(error: ApiDown) -> html.Div:
    """In place of a page that could not be built because the API is away."""
    return state_box(
        "The API does not answer",
        [
            (
                f"No answer that can be used came from {error.url} ({error.reason}). This page tries again every "
                "two seconds and opens by itself. If the system is not running, start it with "
            ),
            html.Code("make run"),
            ".",
        ],
        tone="error",
    )


def problem_page(error: ApiProblem) -> html.Div:
    """In place of a page that the API refused, for example a campaign that is not there."""
    title = "There is no such campaign" if error.status == 404 else error.title or "The API refused this"
    return state_box(title, why(error), dcc.Link("To the campaigns", href="/campaigns", className="lb-button"), "error")


def why(error: ApiProblem) -> str:
    """What the API said, with what is wrong in each field and how to mend it."""
    fields = [f"{e.get('field', '')} {e.get('message', '')} {e.get('remedy') or ''}".strip() for e in error.errors]
    return " ".join(fields) or str(error)


def not_found_page() -> html.Div:
    """For an address that leads nowhere."""
    return state_box(
        "There is no such page",
        "The address leads nowhere.",
        dcc.Link("To the campaigns", href="/campaigns", className="lb-button"),
        "error",
    )


def outage_banner(error: ApiDown, shown_since: str, zone: str) -> html.Div:
    """Above a page that keeps showing what it had."""
    return html.Div(
        [
            html.Strong("The API does not answer. "),
            f"Trying {error.url} again every two seconds. What you see is from {when(shown_since, zone)}.",
        ],
        className="lb-banner lb-banner-error",
        role="alert",
    )


def problem_banner(error: ApiProblem) -> html.Div:
    """Above a page whose update the API refused, for example because its campaign was deleted meanwhile."""
    said: list[Any] = [html.Strong(f"{error.title or 'The API refused the update'}. "), str(error)]
    if error.status == 404:
        said = [
            html.Strong("This is no longer there. "),
            "Somebody deleted it. What you see is how it was last. ",
            dcc.Link("To the campaigns", href="/campaigns"),
        ]
    return html.Div(said, className="lb-banner lb-banner-error", role="alert")

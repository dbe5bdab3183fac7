"""Small parts that several pages use: state badges, progress, the question before cancelling."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.attributes import aria
from dashboard.client import Json
from dashboard.formatting import DASH, duration, exact_time, plural, when

IS_OVER = ("done", "cancelled")


def badge(state: str) -> html.Span:
    """State of a campaign as a word with a dot."""
    return html.Span(state, className=f"lb-badge lb-badge-{state}")


def progress_bar(campaign: Json) -> html.Div:
    """Bar with trials done of planned."""
    done, planned = campaign["trials_done"], campaign["trials_planned"]
    share = 100.0 * campaign["progress"]
    return html.Div(
        [
            dmc.Progress(
                value=share,
                size="md",
                color="gray" if campaign["state"] == "cancelled" else "var(--accent)",
                **aria(label=f"{done} of {planned} trials done"),
            ),
            html.Span(f"{done:,} of {plural(planned, 'trial')}", className="lb-progress-text"),
        ],
        className="lb-progress",
    )


def left(campaign: Json) -> str:
    """Time left in words; a dash when there is none to tell."""
    if campaign["state"] in IS_OVER:
        return DASH
    if campaign["state"] == "queued":
        return "waiting for a worker"
    return f"about {duration(campaign['eta_s'])}" if campaign["eta_s"] is not None else "not known yet"


def time_tag(text: str | None, zone: str) -> html.Time:
    """A time in the viewer's zone, exact on hover."""
    return html.Time(when(text, zone), dateTime=text or "", title=exact_time(text, zone))


def failures(count: int) -> html.Span:
    """Number of failed trials; stands out when there are any."""
    return html.Span(f"{count:,}", className="lb-failures" if count else "lb-muted")


def cancel_button(campaign: Json) -> html.Button | None:
    """The button that asks; None when the campaign is over."""
    if campaign["state"] in IS_OVER:
        return None
    return html.Button(
        "Cancel",
        id=ids.cancel(campaign["id"]),
        className="lb-button lb-button-quiet",
        type="button",
        **aria(label=f"Cancel {campaign['name']}"),
    )


def cancel_dialog() -> html.Div:
    """Asks before a campaign is cancelled; on every page that has a cancel button."""
    return html.Div(
        [
            dcc.Store(id=ids.CANCEL_TARGET),
            dmc.Modal(
                id=ids.CANCEL_MODAL,
                title="Cancel this campaign?",
                centered=True,
                opened=False,
                closeButtonProps={"aria-label": "Close"},
                children=[
                    html.P(id=ids.CANCEL_TEXT),
                    html.Div(id=ids.CANCEL_ERROR),
                    html.Div(
                        [
                            html.Button("Keep it running", id=ids.CANCEL_NO, className="lb-button", type="button"),
                            html.Button(
                                "Cancel the campaign",
                                id=ids.CANCEL_YES,
                                className="lb-button lb-button-danger",
                                type="button",
                            ),
                        ],
                        className="lb-dialog-buttons",
                    ),
                ],
            ),
        ]
    )


def cancel_question(campaign: Json) -> str:
    """What cancelling means for this campaign."""
    rest = campaign["trials_planned"] - campaign["trials_done"]
    return (
        f"{campaign['name']}: {plural(rest, 'trial')} will not be run. "
        f"The {campaign['trials_done']:,} that are done stay, with their heatmap."
    )


def joined(*parts: Any) -> Any:
    """Parts of a line with a dot between them; empty ones are left out."""
    line: list[Any] = []
    for part in parts:
        if part:
            line += [html.Span(" · ", className="lb-muted"), part] if line else [part]
    return line

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


def button(do: str, target: str, label: str, name: str) -> html.Button:
    """A button that does something; ``name`` says to whom for people who hear it."""
    return html.Button(
        label,
        id=ids.act(do, target),
        className="lb-button lb-button-quiet",
        type="button",
        **aria(label=f"{label} {name}"),
    )


def actions(campaign: Json, *, short: bool = False) -> list[Any]:
    """What can be done with a campaign now; ``short``: as far as a list has room for it."""
    state = campaign["state"]
    doable = [
        ("pause", "Pause", state in ("queued", "running")),
        ("resume", "Resume", state == "paused"),
        ("cancel", "Cancel", state not in IS_OVER),
        ("rerun", "Run again", state in IS_OVER and not campaign.get("source")),
        ("delete", "Delete", state in IS_OVER),
    ]
    found: list[Any] = [button(do, campaign["id"], label, campaign["name"]) for do, label, can in doable if can]
    if short:
        return [item for item in found if item.id["do"] != "delete"]
    if not campaign.get("source"):
        clone = dcc.Link(
            "Clone", href=f"/new?clone={campaign['id']}", className="lb-button lb-button-quiet", title="Edit and start"
        )
        found.insert(-1 if state in IS_OVER else len(found), clone)
    return found


def labels(campaign: Json) -> list[html.Span]:
    """Its labels, and whether it was imported."""
    found = [html.Span("imported", className="lb-tag")] if campaign.get("source") else []
    return found + [html.Span(text, className="lb-tag") for text in label_texts(campaign)]


def label_texts(campaign: Json) -> list[str]:
    """Labels as words, whether the API has them as a list or as names with values."""
    given = campaign.get("labels") or []
    return (
        [f"{k}: {v}" if v else str(k) for k, v in given.items()] if isinstance(given, dict) else [str(v) for v in given]
    )


def dialog() -> html.Div:
    """Asks before something that can't be undone; on every page that shows data."""
    return html.Div(
        [
            dcc.Store(id=ids.ACT_TARGET),
            dmc.Modal(
                id=ids.ACT_MODAL,
                title="Are you sure?",
                centered=True,
                opened=False,
                closeButtonProps={"aria-label": "Close"},
                children=[
                    html.P(id=ids.ACT_TEXT),
                    html.Div(id=ids.ACT_ERROR),
                    html.Div(
                        [
                            html.Button("Leave it as it is", id=ids.ACT_NO, className="lb-button", type="button"),
                            html.Button("Do it", id=ids.ACT_YES, className="lb-button lb-button-danger", type="button"),
                        ],
                        className="lb-dialog-buttons",
                    ),
                ],
            ),
        ]
    )


def joined(*parts: Any) -> Any:
    """Parts of a line with a dot between them; empty ones are left out."""
    line: list[Any] = []
    for part in parts:
        if part:
            line += [html.Span(" · ", className="lb-muted"), part] if line else [part]
    return line

"""Buttons that do something with a campaign or a schedule, after asking where it can't be undone."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, ctx, no_update

from dashboard import ids
from dashboard.actions import ACTIONS
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.pages.shell import problem_banner, state_box

Target = dict[str, str]
"""``do`` and ``target`` of a button."""
_CLOSED = (False, no_update, None, None, no_update)
_STAY = (no_update, no_update)


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(
        Output(ids.ACT_MODAL, "opened"),
        Output(ids.ACT_TEXT, "children"),
        Output(ids.ACT_TARGET, "data"),
        Output(ids.ACT_ERROR, "children"),
        Output(ids.ACT_YES, "children"),
        Output(ids.URL, "pathname", allow_duplicate=True),
        Output(ids.TICK, "n_intervals"),
        Input(ids.act(), "n_clicks"),
        Input(ids.ACT_NO, "n_clicks"),
        Input(ids.ACT_YES, "n_clicks"),
        State(ids.ACT_TARGET, "data"),
        State(ids.TICK, "n_intervals"),
        prevent_initial_call=True,
    )
    def ask_or_do(
        _asked: list[int | None], _no: int | None, _yes: int | None, target: Target | None, ticks: int | None
    ) -> tuple[Any, ...]:
        pressed = ctx.triggered_id
        if not any(trigger["value"] for trigger in ctx.triggered):
            return (no_update,) * 7  # a button that has just appeared
        if pressed == ids.ACT_NO:
            return *_CLOSED, *_STAY
        if isinstance(pressed, dict):
            return _first_press(api, {"do": pressed["do"], "target": pressed["target"]}, ticks)
        return _carry_out(api, target, ticks) if target else (*_CLOSED, *_STAY)

    @app.callback(
        Output(ids.LABELS_STATE, "children"),
        Output(ids.TICK, "n_intervals", allow_duplicate=True),
        Input(ids.LABELS_SAVE, "n_clicks"),
        State(ids.LABELS, "value"),
        State(ids.PAGE_PATH, "data"),
        State(ids.TICK, "n_intervals"),
        prevent_initial_call=True,
    )
    def save_labels(clicks: int | None, labels: list[str], path: str, ticks: int | None) -> tuple[Any, Any]:
        if not clicks:
            return _STAY
        try:
            api.edit_campaign(path.rsplit("/", 1)[-1], labels=labels or [])
        except (ApiDown, ApiProblem) as exc:
            return f"Not saved: {exc}", no_update
        return "Saved.", (ticks or 0) + 1


def _first_press(api: ApiClient, target: Target, ticks: int | None) -> tuple[Any, ...]:
    """Ask, or do it at once where it can be undone."""
    action = ACTIONS[target["do"]]
    if action.question is None:
        return _carry_out(api, target, ticks)
    try:
        question = action.question(api, target["target"])
    except (ApiDown, ApiProblem) as exc:
        return _failed(exc, target)
    return True, question, target, None, action.yes, *_STAY


def _carry_out(api: ApiClient, target: Target, ticks: int | None) -> tuple[Any, ...]:
    try:
        path = ACTIONS[target["do"]].do(api, target["target"])
    except (ApiDown, ApiProblem) as exc:
        return _failed(exc, target)
    # A tick at once, so that the page shows what was done.
    return (*_CLOSED, path, no_update) if path else (*_CLOSED, no_update, (ticks or 0) + 1)


def _failed(error: ApiDown | ApiProblem, target: Target) -> tuple[Any, ...]:
    why = (
        problem_banner(error)
        if isinstance(error, ApiProblem)
        else state_box("The API does not answer", f"{error} Try again in a moment.", None, "error")
    )
    return True, "This was not done.", target, why, "Try again", *_STAY

"""Cancelling a campaign, after asking."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, ctx, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.pages.parts import cancel_question
from dashboard.pages.shell import problem_banner


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(
        Output(ids.CANCEL_MODAL, "opened"),
        Output(ids.CANCEL_TEXT, "children"),
        Output(ids.CANCEL_TARGET, "data"),
        Output(ids.CANCEL_ERROR, "children"),
        Input(ids.cancel(), "n_clicks"),
        Input(ids.CANCEL_NO, "n_clicks"),
        Input(ids.CANCEL_YES, "n_clicks"),
        State(ids.CANCEL_TARGET, "data"),
        prevent_initial_call=True,
    )
    def ask_or_do(_asked: list[int | None], _no: int | None, _yes: int | None, target: str | None) -> tuple[Any, ...]:
        if not any(trigger["value"] for trigger in ctx.triggered):
            return no_update, no_update, no_update, no_update
        try:
            if isinstance(ctx.triggered_id, dict):
                campaign = api.campaign(ctx.triggered_id["campaign"])
                return True, cancel_question(campaign), campaign["id"], None
            if ctx.triggered_id == ids.CANCEL_YES and target:
                api.cancel(target)
        except ApiDown as exc:
            return True, str(exc) + " Nothing was cancelled; try again in a moment.", target, None
        except ApiProblem as exc:
            return True, no_update, target, problem_banner(exc)
        return False, no_update, None, None

"""The campaign list stays current."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dash import Dash, Input, Output, State, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.pages.home import campaign_list, fingerprint
from dashboard.pages.shell import Place, outage_banner, problem_banner


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(
        Output(ids.HOME_LIST, "children"),
        Output(ids.HOME_BANNER, "children"),
        Output(ids.HOME_SEEN, "data"),
        Input(ids.HOME_TICK, "n_intervals"),
        State(ids.HOME_SEEN, "data"),
        State(ids.HOME_BANNER, "children"),
        State(ids.PLACE, "data"),
        prevent_initial_call=True,
    )
    def refresh(_ticks: int, seen: str, banner: Any, data: dict[str, Any]) -> tuple[Any, Any, Any]:
        place = Place.from_store(data)
        try:
            answer = api.campaigns()
        except ApiDown as exc:
            return no_update, banner or outage_banner(exc, datetime.now(UTC).isoformat(), place.zone), no_update
        except ApiProblem as exc:
            return no_update, problem_banner(exc), no_update
        now = fingerprint(answer)
        clear = None if banner else no_update
        if now == seen:
            return no_update, clear, no_update
        return campaign_list(answer, place.zone), clear, now

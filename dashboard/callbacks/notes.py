"""Notes beside trends."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dash import Dash, Input, Output, State, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.formatting import viewer_zone
from dashboard.pages.place import Place


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(
        Output(ids.NOTE_STATE, "children"),
        Output(ids.TICK, "n_intervals", allow_duplicate=True),
        Input(ids.NOTE_SAVE, "n_clicks"),
        State(ids.NOTE_AT, "value"),
        State(ids.NOTE_TEXT, "value"),
        State(ids.PLACE, "data"),
        State(ids.TICK, "n_intervals"),
        prevent_initial_call=True,
    )
    def keep(clicks: int | None, at: str | None, text: str | None, data: Any, ticks: int | None) -> tuple[Any, Any]:
        if not clicks:
            return no_update, no_update
        if not at or not (text or "").strip():
            return "Say when and what.", no_update
        try:
            api.annotate(moment(at, Place.from_store(data).zone), str(text).strip())
        except (ApiDown, ApiProblem) as exc:
            return f"Not kept: {exc}", no_update
        return "Kept.", (ticks or 0) + 1


def moment(local: str, zone: str) -> str:
    """A time that was picked on the viewer's clock, as RFC 3339."""
    return datetime.fromisoformat(local).replace(tzinfo=viewer_zone(zone)).isoformat()

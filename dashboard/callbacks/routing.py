"""Which page an address shows."""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.pages import new
from dashboard.pages.parts import dialog
from dashboard.pages.place import Place
from dashboard.pages.shell import api_down_page, not_found_page, problem_page
from dashboard.pages.view import frame
from dashboard.routes import NoSuchPage, draw
from dashboard.settings import Settings


def register(app: Dash, api: ApiClient, settings: Settings) -> None:
    """Add the callbacks."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("lastbyte", "place"),
        Output(ids.PLACE, "data"),
        Input(ids.URL, "pathname"),
        Input(ids.URL, "search"),
    )

    @app.callback(
        Output(ids.PAGE, "children"),
        Output(ids.RETRY, "disabled"),
        Input(ids.PLACE, "data"),
        Input(ids.RETRY, "n_intervals"),
        prevent_initial_call=True,
    )
    def show_page(data: dict[str, Any] | None, _ticks: int | None) -> tuple[Any, bool]:
        place = Place.from_store(data)
        try:
            return render(api, place, settings.poll_ms), True
        except ApiDown as exc:
            return api_down_page(exc), False
        except NoSuchPage:
            return not_found_page(), True
        except ApiProblem as exc:
            return problem_page(exc), True

    # A title per page, so that tabs, history and bookmarks can be told apart.
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("lastbyte", "title"),
        Output(ids.PAGE, "title"),
        Input(ids.PAGE, "children"),
        State(ids.URL, "pathname"),
    )


def render(api: ApiClient, place: Place, poll_ms: int) -> Any:
    """The page for a place; raises what the API client raises."""
    if place.pathname == "/new":
        spec = api.campaign_spec(place.query["clone"]) if "clone" in place.query else None
        return new.page(api.endpoints(), api.profiles(), api.clients(), api.vantages(), spec)
    return [frame(place, draw(api, place), poll_ms), dialog()]

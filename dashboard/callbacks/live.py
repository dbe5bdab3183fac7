"""One callback for every page that shows data: draw it again when a control or the data changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, no_update

from dashboard import ids
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.inplace import PROPERTIES, kept, parts, values
from dashboard.pages.place import Place
from dashboard.pages.shell import outage_banner, problem_banner
from dashboard.pages.view import Choice, controls, offered
from dashboard.routes import draw

PATTERNS = {
    "part": ids.part,
    "slot": ids.slot,
    "figure": ids.figure,
    "panel-figure": ids.panel_figure,
    "grid": ids.grid,
}
"""Ids of what is updated in place, in the order of PROPERTIES."""


def register(app: Dash, api: ApiClient) -> None:
    """Add the callbacks."""

    @app.callback(
        Output(ids.HEAD, "children"),
        Output(ids.BODY, "children"),
        Output(ids.BANNER, "children"),
        Output(ids.SEEN, "data"),
        Output(ids.TICK, "disabled"),
        Output(ids.CONTROLS, "children"),
        Output(ids.OFFERED, "data"),
        *(Output(pattern(), PROPERTIES[kind]) for kind, pattern in PATTERNS.items()),
        Input(ids.TICK, "n_intervals"),
        Input(ids.control(), "value"),
        State(ids.SEEN, "data"),
        State(ids.OFFERED, "data"),
        State(ids.BANNER, "children"),
        State(ids.PAGE_PATH, "data"),
        State(ids.PLACE, "data"),
        prevent_initial_call=True,
    )
    def refresh(
        _ticks: int, _values: list[Any], seen: str, before: str, banner: Any, pathname: str, data: dict[str, Any]
    ) -> tuple[Any, ...]:
        set_to = chosen(ctx.inputs_list[1])
        place = Place.from_store(data).at(pathname, set_to)
        shown = [[output["id"] for output in outputs] for outputs in ctx.outputs_list[7:]]
        stay = [no_update, no_update, *([no_update] * len(idents) for idents in shown)]
        try:
            drawn = draw(api, place)
            clear = None if banner else no_update
            if drawn.seen == seen:
                return no_update, no_update, clear, no_update, not drawn.live, *stay
            body, inside = news(drawn.body(), shown)
            offers = drawn.controls()
            return drawn.head, body, clear, drawn.seen, not drawn.live, *controls_anew(offers, before, set_to), *inside
        except ApiDown as exc:
            since = datetime.now(UTC).isoformat()
            # Keep asking even when nothing changes any more: the banner must go once the API is back.
            return no_update, no_update, banner or outage_banner(exc, since, place.zone), no_update, False, *stay
        except ApiProblem as exc:
            return no_update, no_update, problem_banner(exc), no_update, True, *stay

    # The address always reproduces the view; no history entry per switch.
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("lastbyte", "remember"),
        Output(ids.REMEMBERED, "data"),
        Input(ids.control(), "value"),
        State(ids.control(), "id"),
        State(ids.PAGE_PATH, "data"),
        prevent_initial_call=True,
    )

    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("lastbyte", "tip"),
        Output(ids.TIP, "title"),
        Input(ids.panel_figure(), "hoverData"),
        State(ids.panel_figure(), "figure"),
    )

    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("lastbyte", "open"),
        Output(ids.figure(), "clickData"),
        Input(ids.figure(), "clickData"),
        prevent_initial_call=True,
    )

    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("lastbyte", "open"),
        Output(ids.panel_figure(), "clickData"),
        Input(ids.panel_figure(), "clickData"),
        prevent_initial_call=True,
    )


def news(body: Any, shown: list[list[dict[str, Any]]]) -> tuple[Any, list[list[Any]]]:
    """The new body, or, where its structure is that of the page that is shown, the new values within it."""
    wrapped = parts(body)
    found = values(wrapped)
    if not found.fits(shown):
        return wrapped, [[no_update] * len(idents) for idents in shown]
    inside = [found.of(kind, idents) for kind, idents in zip(PROPERTIES, shown, strict=True)]
    return no_update, [[no_update if kept(value) else value for value in mine] for mine in inside]


def controls_anew(choices: Sequence[Choice], before: str, set_to: dict[str, str]) -> tuple[Any, Any]:
    """The row of controls and what it offers, unless both are as the viewer has them: then they stay mounted."""
    offer = offered(choices)
    if offer == before and all(set_to.get(choice.name) == choice.value for choice in choices):
        return no_update, no_update
    return controls(choices), offer


def chosen(inputs: list[dict[str, Any]]) -> dict[str, str]:
    """Names and values of the controls, lists joined by commas; of an empty control the value is empty."""
    return {item["id"]["name"]: _text(item.get("value")) for item in inputs}


def _text(value: Any) -> str:
    return ",".join(str(v) for v in value) if isinstance(value, list) else "" if value is None else str(value)

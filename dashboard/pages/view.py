"""What every page that shows data is made of: a head, controls, a body, and when to draw it again.

A page is a function of the API and of a place (path and query). The same function draws it first, draws it again when
a control or the data changes, and gives its CSV files; so a link always reproduces what is seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.attributes import aria
from dashboard.inplace import parts
from dashboard.pages.place import Place

LONG = 16
"""Characters of a choice that half a telephone's width still shows."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One control above a page; its value stands in the query under its name."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    """Value and what is read."""
    value: str
    """For ``many``: values joined by commas, empty for all."""
    many: bool = False
    segments: bool = False
    """All options side by side instead of a list that opens."""
    help: str = ""
    none: str = "all"
    """What an empty choice of many means."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page, ready to be shown; what is costly is built only when it is needed."""

    seen: str
    """Equal means that nothing needs drawing."""
    head: Any
    body: Callable[[], Any]
    controls: Callable[[], Sequence[Choice]] = tuple
    live: bool = False
    """Ask again at intervals."""
    files: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    """CSV files by name."""


def frame(place: Place, drawn: Drawn, poll_ms: int) -> html.Div:
    """The page with its first content."""
    choices = drawn.controls()
    return html.Div(
        [
            dcc.Store(id=ids.PAGE_PATH, data=place.pathname),
            dcc.Store(id=ids.SEEN, data=drawn.seen),
            dcc.Store(id=ids.OFFERED, data=offered(choices)),
            dcc.Interval(id=ids.TICK, interval=poll_ms, disabled=not drawn.live),
            html.Div(id=ids.BANNER),
            html.Div(drawn.head, id=ids.HEAD),
            html.Div(controls(choices), id=ids.CONTROLS),
            html.Div(parts(drawn.body()), id=ids.BODY),
            html.Div(id=ids.TIP, className="lb-tip", role="tooltip"),
            dcc.Store(id=ids.REMEMBERED),
        ]
    )


def value_in(place: Place, name: str, allowed: Sequence[str], default: str) -> str:
    """What the query says, if that is allowed."""
    value = place.query.get(name, default)
    return value if value in allowed else default


def values_in(place: Place, name: str, allowed: Sequence[str]) -> list[str]:
    """The values of a choice of many that are allowed; empty for all."""
    return [value for value in place.query.get(name, "").split(",") if value in allowed]


def controls(choices: Sequence[Choice]) -> html.Div | None:
    """The row of controls; None when there are none."""
    if not choices:
        return None
    return html.Div(
        [_control(choice) for choice in choices], className="lb-controls", role="group", **aria(label="View")
    )


def offered(choices: Sequence[Choice]) -> str:
    """What can be chosen, as text: where that and what is chosen stay, a list that is open stays open."""
    return json.dumps([[c.name, c.label, c.options, c.many, c.segments, c.none] for c in choices])


def _control(choice: Choice) -> html.Div:
    ident = ids.control(choice.name)
    data = [{"value": value, "label": label} for value, label in choice.options]
    named = aria(label=choice.label)
    shown: Any
    if choice.segments:
        shown = dmc.SegmentedControl(id=ident, data=data, value=choice.value, size="sm", **named)
    elif choice.many:
        shown = dmc.MultiSelect(
            id=ident,
            data=data,
            value=[value for value in choice.value.split(",") if value],
            placeholder=choice.none,  # the style sheet hides it beside what is chosen
            size="sm",
            miw=150,
            maw=420,
            clearable=True,
            searchable=len(data) > 8,
            clearButtonProps=aria(label=f"Clear {choice.label}"),
            **named,
        )
    else:
        only = len(data) < 2
        wide = 8 * max((len(label) for _, label in choice.options), default=8)
        shown = dmc.Select(
            id=ident,
            data=data,
            value=choice.value,
            allowDeselect=False,
            size="sm",
            w=min(340, max(130, 60 + wide)) if not only else 24 + wide,
            searchable=len(data) > 8,
            **(_AS_TEXT if only else {}),
            **named,
        )
    return html.Div(
        [html.Span(choice.label, title=choice.help or None, className="lb-help" if choice.help else None), shown],
        className="lb-labelled lb-labelled-long" if not choice.segments and _is_long(choice) else "lb-labelled",
    )


def _is_long(choice: Choice) -> bool:
    """Whether half the width of a telephone is too little for what can be chosen."""
    return not choice.many and max((len(label) for _, label in choice.options), default=0) > LONG


_AS_TEXT: dict[str, Any] = {"readOnly": True, "variant": "unstyled", "rightSectionWidth": 0, "rightSection": " "}
"""A select with one option looks like text."""


def csv_href(place: Place, name: str) -> str:
    """Address of a CSV file of a page as it is shown."""
    return f"/export{quote(place.pathname)}?{urlencode({**place.query, 'file': name})}"


def link(path: str, **query: str | None) -> str:
    """A path with a query; what is None is left out."""
    given = {key: value for key, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path

"""Updating a page in place: what has an id gets new content, so that figures keep their zoom and nothing flickers.

Dash mounts everything anew below a component whose ``children`` are replaced. So a page whose structure is the same as
before is not replaced: figures, grids and slots (texts within them) get their new values one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard import ids

PROPERTIES = {"part": "children", "slot": "children", "figure": "figure", "panel-figure": "figure", "grid": "rowData"}
"""By type of id, the property that is updated."""


@dataclass(frozen=True, slots=True)
class Values:
    """The updatable values of a page, by type and id."""

    by_type: dict[str, dict[str, Any]] = field(default_factory=lambda: {kind: {} for kind in PROPERTIES})

    def fits(self, shown: Sequence[Sequence[dict[str, Any]]]) -> bool:
        """Whether a page with these ids (in the order of PROPERTIES) has the same structure."""
        return all(
            set(self.by_type[kind]) == {key_of(ident) for ident in idents}
            for kind, idents in zip(PROPERTIES, shown, strict=True)
        )

    def of(self, kind: str, idents: Sequence[dict[str, Any]]) -> list[Any]:
        """The values for these ids, in their order."""
        return [self.by_type[kind][key_of(ident)] for ident in idents]


def parts(body: Any) -> list[html.Div]:
    """The top level of a body, each child with an id of its own."""
    children = body if isinstance(body, list) else [body]
    return [html.Div(child, id=ids.part(i), className="lb-part") for i, child in enumerate(children)]


def values(wrapped: Sequence[html.Div]) -> Values:
    """What is updatable in a wrapped body: a part only as a whole where nothing within it has an id of its own."""
    found = Values()
    for part in wrapped:
        inner = [item for item in _within(part) if _kind(item)]
        for item in inner or [part]:
            kind = _kind(item) or "part"
            found.by_type[kind][key_of(_id(item))] = getattr(item, PROPERTIES[kind], None)
        if inner:
            found.by_type["part"][key_of(_id(part))] = _KEEP
    return found


class _Keep:
    """Marks a part that stays as it is, since what changes within it is updated by itself."""


_KEEP = _Keep()


def kept(value: Any) -> bool:
    """Whether a part stays as it is."""
    return isinstance(value, _Keep)


def key_of(ident: dict[str, Any]) -> str:
    """An id as text."""
    return "|".join(f"{name}={ident[name]}" for name in sorted(ident) if name != "type")


def _within(component: Component) -> Iterator[Component]:
    walk: Iterator[Any] = component._traverse()  # type: ignore[no-untyped-call] # noqa: SLF001 - there is no public way
    for item in walk:
        if isinstance(item, Component):
            yield item


def _id(item: Component) -> Any:
    return getattr(item, "id", None)


def _kind(item: Component) -> str | None:
    ident = _id(item)
    kind = ident.get("type") if isinstance(ident, dict) else None
    return kind if kind in PROPERTIES and kind != "part" else None

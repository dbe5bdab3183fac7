"""Where the viewer is and how they look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Place:
    """An address, and what only the browser knows."""

    pathname: str
    query: dict[str, str]
    zone: str
    """IANA time zone of the browser."""
    scheme: str
    """``light`` or ``dark``."""

    @classmethod
    def from_store(cls, data: dict[str, Any] | None) -> Self:
        """From the store that the browser fills."""
        data = data or {}
        return cls(
            pathname=data.get("pathname") or "/",
            query={k: str(v) for k, v in (data.get("query") or {}).items()},
            zone=data.get("zone") or "UTC",
            scheme="dark" if data.get("scheme") == "dark" else "light",
        )

    def at(self, pathname: str, chosen: Mapping[str, str]) -> Self:
        """The same viewer on a page with these values of its controls; other parts of the query stay."""
        kept = (
            {key: value for key, value in self.query.items() if key not in chosen} if pathname == self.pathname else {}
        )
        return replace(self, pathname=pathname, query={**kept, **{k: v for k, v in chosen.items() if v}})

"""Pages of longer lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """One page of a longer list."""

    items: tuple[T, ...]
    total: int
    next: str | None
    """Cursor of the page after this one; None on the last."""

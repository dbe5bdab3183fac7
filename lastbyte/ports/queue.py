"""How cells get to workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lastbyte.ports.campaigns import OpenCell


class CellQueue(Protocol):
    """How cells get to workers; the database stays the truth, a lost message is sent again by the dispatcher."""

    def enqueue(self, cells: Sequence[OpenCell]) -> None:
        """Send each cell to its vantage's queue; raises QueueUnavailable."""

    def depth(self, vantage: str) -> int:
        """Messages that wait for the vantage; raises QueueUnavailable."""

    def ping(self) -> None:
        """Raises QueueUnavailable when the broker does not answer."""

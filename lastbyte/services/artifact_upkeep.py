"""Keeping the folder of artifacts in order: old ones go, and so does what crashes left behind."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from lastbyte.ports import ArtifactStore

DAY_S = 86_400.0


class Sweepable(Protocol):
    """A folder that can be told what belongs into it."""

    def sweep(self, named: Collection[str]) -> int:
        """Remove what is not named and is not new; gives how many."""


def tidy(store: ArtifactStore, folder: Sweepable, days: float) -> tuple[int, int]:
    """Drop artifacts older than so many days, then remove files that no row names; gives how many of each.

    The row goes first: a crash in between leaves a file that the next call removes, never a row without its file.
    """
    expired = store.expire(days * DAY_S, f"Removed after {days:g} days.")
    return expired, folder.sweep(store.locations())

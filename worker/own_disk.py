"""The captures on this worker's disk: what no row names any more goes, about once an hour between two cells.

Beat does the same where it shares the folder; on a vantage elsewhere nobody else would.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from lastbyte.domain.errors import Unavailable
from lastbyte.ports import ArtifactStore
from lastbyte.services.artifact_upkeep import Sweepable
from worker.celery_app import TIDY_EVERY_S

log = structlog.get_logger()


class OwnDisk:
    """Remembers when it was tidied last."""

    def __init__(self, rows: ArtifactStore, folder: Sweepable, clock: Callable[[], float] = time.monotonic) -> None:
        self._rows = rows
        self._folder = folder
        self._clock = clock
        self._due = clock()

    def tidy_if_due(self) -> int:
        """Remove what no row names, unless that was done within the hour; trouble waits for the next hour."""
        if self._clock() < self._due:
            return 0
        self._due = self._clock() + TIDY_EVERY_S
        try:
            removed = self._folder.sweep(self._rows.locations())
        except (Unavailable, OSError) as exc:
            log.warning("captures not tidied", reason=str(exc))
            return 0
        if removed:
            log.info("captures tidied", files_removed=removed)
        return removed

"""Celery's beat, which goes on when the clock is set back.

Beat counts from when it last sent a task. After a step back that moment lies ahead, and nothing would be sent until the
clock has come there again: an hour without a dispatcher for a clock that was an hour fast.

It keeps its times in memory: nothing here needs them after a restart, when every task is simply due, and a file of them
can be locked or damaged and end beat.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog
from celery.beat import Scheduler

AHEAD = timedelta(seconds=1)
"""Less than this counts as now."""

LONG_AGO = timedelta(days=1)
"""Longer than any task here waits."""

log = structlog.get_logger()


class SteadyScheduler(Scheduler):  # type: ignore[misc] # Celery has no types
    """Looks before each tick whether the clock was set back; if so, every task counts as sent now."""

    def setup_schedule(self) -> None:
        """Every task is due at the start: how long beat was away is not known."""
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now() - LONG_AGO

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; gives the seconds until more is."""
        entries = list(self.schedule.values())
        ahead = [entry for entry in entries if entry.last_run_at > entry.default_now() + AHEAD]
        if ahead:
            log.warning("the clock was set back, beat counts anew")
            for entry in entries:
                entry.last_run_at = entry.default_now()
            self._heap = None
        return float(super().tick(*args, **kwargs))

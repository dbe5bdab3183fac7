"""Celery's beat, which goes on when the clock is set back.

Beat counts from when it last sent a task. After a step back that moment lies ahead, and nothing would be sent until the
clock has come there again: an hour without a dispatcher for a clock that was an hour fast.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog
from celery.beat import PersistentScheduler

AHEAD = timedelta(seconds=1)
"""Less than this counts as now."""

log = structlog.get_logger()


class SteadyScheduler(PersistentScheduler):  # type: ignore[misc] # Celery has no types
    """Looks before each tick whether the clock was set back; if so, every task counts as sent now."""

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

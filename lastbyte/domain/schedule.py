"""Schedules: campaigns that start by the clock, and what to do when a start was missed or would overlap."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

ON_TIME = timedelta(minutes=2)
"""A start that is no later than this counts as on time; a later one was missed, and the schedule's policy decides."""


class MissedPolicy(enum.StrEnum):
    """What becomes of due times that passed while nothing ran."""

    SKIP = "skip"
    """They are recorded as skipped."""
    CATCH_UP = "catch-up"
    """One campaign is started for all of them together."""


class OverlapPolicy(enum.StrEnum):
    """What becomes of a due time while the schedule's campaign before is not over yet."""

    SKIP = "skip"
    """It is recorded as skipped."""
    QUEUE = "queue"
    """It starts when the one before is over; at most one waits."""


class RunTrigger(enum.StrEnum):
    """Why a run was to start."""

    DUE = "due"
    CATCH_UP = "catch-up"
    MANUAL = "manual"


class RunOutcome(enum.StrEnum):
    """What became of it."""

    STARTED = "started"
    QUEUED = "queued"
    """It waits for the campaign before."""
    SKIPPED = "skipped"
    FAILED = "failed"
    """The template can't be planned any more; the reason names the field."""


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """When which campaign starts."""

    name: str
    cron: str
    """Five fields: minute, hour, day of month, month, day of week."""
    time_zone: str
    """IANA name, for example ``Europe/Berlin``."""
    template: Mapping[str, object]
    """The campaign to start, as JSON values: the fields of ``CampaignRequest``."""
    enabled: bool = True
    missed: MissedPolicy = MissedPolicy.SKIP
    overlap: OverlapPolicy = OverlapPolicy.SKIP

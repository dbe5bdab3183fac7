"""Schedules and their runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lastbyte.domain.campaign import CampaignState
from lastbyte.domain.schedule import RunOutcome, RunTrigger, ScheduleSpec
from lastbyte.ports.campaigns import CampaignPlan
from lastbyte.ports.paging import Slice


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    """One due time (or push of a button), and what became of it."""

    id: int
    schedule_id: int
    due_at: datetime
    trigger: RunTrigger
    outcome: RunOutcome
    reason: str
    """Why it was skipped, waits or failed; empty when it started."""
    campaign_id: str | None
    """None when none was started, or when it was deleted since."""
    campaign_state: CampaignState | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """A schedule as it is stored."""

    id: int
    spec: ScheduleSpec
    created_at: datetime
    next_due_at: datetime | None
    """None while it is disabled."""
    last_run: ScheduleRun | None


@dataclass(frozen=True, slots=True)
class ClaimedSchedule:
    """A schedule that is locked against all others while it is decided what becomes of it."""

    id: int
    spec: ScheduleSpec
    now: datetime
    """The database's clock, which all share."""
    due_at: datetime | None
    """The due time that has come; None when none has."""
    open_campaign_id: str | None
    """A campaign of this schedule that is not over."""
    waiting: ScheduleRun | None
    """A run that waits for the campaign before."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """What becomes of a claimed schedule; stored together with the campaign in one transaction."""

    outcome: RunOutcome
    trigger: RunTrigger
    due_at: datetime
    reason: str = ""
    plan: CampaignPlan | None = None
    """The campaign to start."""
    next_due_at: datetime | None = None
    """None: stays as it is."""


Decide = Callable[[ClaimedSchedule], Settlement | None]
"""Gives None when there is nothing to do after all."""


class ScheduleStore(Protocol):
    """Where schedules are. Methods raise StoreUnavailable while it can't be reached."""

    def create(self, spec: ScheduleSpec, next_due_at: datetime | None) -> ScheduleRecord:
        """Raises Conflict when the name is taken."""

    def get(self, schedule_id: int) -> ScheduleRecord:
        """Raises NotFound."""

    def page(self, limit: int, cursor: str | None) -> Slice[ScheduleRecord]:
        """By name; raises InvalidInput for a cursor that is none."""

    def update(self, schedule_id: int, spec: ScheduleSpec, next_due_at: datetime | None) -> ScheduleRecord:
        """Replace all but its runs; a waiting run of a disabled schedule is skipped. Raises NotFound and Conflict."""

    def delete(self, schedule_id: int) -> None:
        """With its runs; their campaigns stay. Raises NotFound."""

    def runs(self, schedule_id: int, limit: int, cursor: str | None) -> Slice[ScheduleRun]:
        """Newest first. Raises NotFound, and InvalidInput for a cursor that is none."""

    def settle_next(self, decide: Decide) -> ScheduleRun | None:
        """Claim one schedule that is due or whose waiting run may start, and store what ``decide`` says; None when
        there is none. Callers anywhere may do this at the same time: each due time is settled once."""

    def settle_now(self, schedule_id: int, decide: Decide) -> ScheduleRun | None:
        """The same for a schedule that a person wants run. Raises NotFound."""

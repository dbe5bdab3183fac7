"""Schedules as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from api.schemas.campaigns import CampaignIn
from api.schemas.common import PRINTABLE, Input, Output, Timestamp
from lastbyte.domain.campaign import CampaignState
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.schedule import MissedPolicy, OverlapPolicy, RunOutcome, RunTrigger, ScheduleSpec
from lastbyte.ports import CampaignPlan, ScheduleRecord, ScheduleRun
from lastbyte.services import cron
from lastbyte.services.schedules import SHOWN_TIMES, Preview, template_of

CronText = Annotated[str, StringConstraints(min_length=1, max_length=cron.MAX_LENGTH, pattern=PRINTABLE)]
ZoneName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=PRINTABLE)]
ScheduleName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE, strip_whitespace=True)]
ScheduleId = Annotated[int, Field(ge=1, lt=2**63)]

_CRON = Field(
    description="Five fields: minute, hour, day of month, month, day of week (0 or 7: Sunday; names allowed).",
    examples=["15 3 * * *"],
)
_ZONE = Field(default="UTC", description="IANA time zone whose clock counts.", examples=["Europe/Berlin"])
_MISSED = Field(
    default=MissedPolicy.SKIP,
    strict=False,
    description="Due times that passed while nothing ran: `skip` them, or `catch-up` with one campaign for all.",
)
_OVERLAP = Field(
    default=OverlapPolicy.SKIP,
    strict=False,
    description="Due while the campaign before is not over: `skip`, or `queue` one start until it is.",
)


class ScheduleIn(Input):
    """Start this campaign at these times."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "every night",
                    "cron": "15 3 * * *",
                    "time_zone": "Europe/Berlin",
                    "template": {
                        "endpoints": ["testbed-caddy-1MB"],
                        "profiles": ["baseline", "loss-1"],
                        "clients": ["curl-quiche"],
                        "rounds": 10,
                    },
                    "missed": "catch-up",
                }
            ]
        },
    )

    name: ScheduleName = Field(description="For people; no two schedules share one.")
    cron: CronText = _CRON
    time_zone: ZoneName = _ZONE
    template: CampaignIn = Field(
        description="The campaign to start, as for POST /campaigns. Without `name` it is named after the schedule and "
        "the due time, without `seed` each run draws its own."
    )
    enabled: bool = Field(default=True, description="False: it starts only by hand.")
    missed: MissedPolicy = _MISSED
    overlap: OverlapPolicy = _OVERLAP

    def to_spec(self) -> ScheduleSpec:
        """For the use case."""
        return ScheduleSpec(
            name=self.name,
            cron=self.cron,
            time_zone=self.time_zone,
            template=template_of(self.template.to_request()),
            enabled=self.enabled,
            missed=self.missed,
            overlap=self.overlap,
        )


class ScheduleChange(Input):
    """What to change; what is left out stays."""

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"examples": [{"enabled": False}, {"cron": "0 4 * * MON-FRI"}]}
    )

    name: ScheduleName | None = None
    cron: CronText | None = None
    time_zone: ZoneName | None = None
    template: CampaignIn | None = Field(default=None, description="Replaces the whole template.")
    enabled: bool | None = None
    missed: MissedPolicy | None = Field(default=None, strict=False)
    overlap: OverlapPolicy | None = Field(default=None, strict=False)

    def applied_to(self, spec: ScheduleSpec) -> ScheduleSpec:
        """``spec`` with the changes."""
        return ScheduleSpec(
            name=self.name or spec.name,
            cron=self.cron or spec.cron,
            time_zone=self.time_zone or spec.time_zone,
            template=template_of(self.template.to_request()) if self.template else spec.template,
            enabled=spec.enabled if self.enabled is None else self.enabled,
            missed=self.missed or spec.missed,
            overlap=self.overlap or spec.overlap,
        )


class PreviewIn(Input):
    """What a schedule would do."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}]},
    )

    cron: CronText = _CRON
    time_zone: ZoneName = _ZONE
    template: CampaignIn | None = Field(default=None, description="Checked and counted when it is given.")


class DueTime(Output):
    """A moment in UTC and on the clock of the schedule."""

    at: Timestamp
    local: str = Field(description="RFC 3339 with the zone's offset at that moment.")

    @classmethod
    def of(cls, moment: datetime) -> DueTime:
        """From a time in the schedule's zone."""
        return cls(at=moment.astimezone(UTC), local=moment.isoformat(timespec="seconds"))


class PlannedOut(Output):
    """How large one campaign of the template is."""

    cells: int
    trials: int = Field(description="At most, warm-up rounds included.")

    @classmethod
    def of(cls, plan: CampaignPlan) -> PlannedOut:
        """From a plan."""
        cells = len(plan.endpoints) * len(plan.profiles)
        return cls(cells=cells, trials=cells * len(plan.clients) * (plan.spec.most_rounds + 1))


class PreviewOut(Output):
    """What the schedule would do."""

    words: str = Field(description="The cron expression in English.")
    next_runs: list[DueTime] = Field(description=f"The next {SHOWN_TIMES}.")
    clock_notes: list[str] = Field(description="What the next changes of the clocks do to it.")
    planned: PlannedOut | None = Field(default=None, description="Size of one campaign; null without a template.")

    @classmethod
    def of(cls, preview: Preview) -> PreviewOut:
        """From the use case."""
        return cls(
            words=preview.words,
            next_runs=[DueTime.of(moment) for moment in preview.next_times],
            clock_notes=list(preview.clock_notes),
            planned=PlannedOut.of(preview.plan) if preview.plan else None,
        )


class RunOut(Output):
    """What became of one due time."""

    id: int
    schedule_id: int
    due_at: Timestamp
    trigger: RunTrigger
    outcome: RunOutcome
    reason: str = Field(description="Why it was skipped, waits or failed; empty when it started.")
    campaign_id: str | None = Field(description="Null when none was started, or it was deleted since.")
    campaign_state: CampaignState | None
    created_at: Timestamp = Field(description="When it was settled; before that nobody had looked.")

    @classmethod
    def of(cls, run: ScheduleRun) -> RunOut:
        """From the domain."""
        return cls(
            id=run.id,
            schedule_id=run.schedule_id,
            due_at=run.due_at,
            trigger=run.trigger,
            outcome=run.outcome,
            reason=run.reason,
            campaign_id=run.campaign_id,
            campaign_state=run.campaign_state,
            created_at=run.created_at,
        )


class ScheduleLinks(Output):
    """Where its parts are."""

    self: str
    runs: str
    run: str


class ScheduleOut(Output):
    """A schedule with what comes and what came last."""

    id: int
    name: str
    cron: str
    time_zone: str
    words: str = Field(description="The cron expression in English; empty when it can't be read here any more.")
    template: dict[str, Any] = Field(description="The campaign to start, as for POST /campaigns.")
    enabled: bool
    missed: MissedPolicy
    overlap: OverlapPolicy
    created_at: Timestamp
    next_due_at: Timestamp | None = Field(description="Null while it is disabled.")
    next_runs: list[DueTime] = Field(
        description=f"The next {SHOWN_TIMES}; of a disabled schedule, those it would have."
    )
    clock_notes: list[str] = Field(description="What the next changes of the clocks do to it.")
    last_run: RunOut | None
    links: ScheduleLinks

    @classmethod
    def of(cls, record: ScheduleRecord, url: str) -> ScheduleOut:
        """From the domain; ``url`` is where the schedule is found."""
        spec, now = record.spec, datetime.now(UTC)
        try:
            words = cron.words(spec.cron)
            coming = cron.next_times(spec.cron, spec.time_zone, now, SHOWN_TIMES)
            notes = cron.clock_notes(spec.cron, spec.time_zone, now)
        except InvalidInput:  # stored by a machine with other tables of time zones
            words, coming, notes = "", [], []
        return cls(
            id=record.id,
            name=spec.name,
            cron=spec.cron,
            time_zone=spec.time_zone,
            words=words,
            template=dict(spec.template),
            enabled=spec.enabled,
            missed=spec.missed,
            overlap=spec.overlap,
            created_at=record.created_at,
            next_due_at=record.next_due_at,
            next_runs=[DueTime.of(moment) for moment in coming],
            clock_notes=notes,
            last_run=RunOut.of(record.last_run) if record.last_run else None,
            links=ScheduleLinks(self=url, runs=f"{url}/runs", run=f"{url}/run"),
        )

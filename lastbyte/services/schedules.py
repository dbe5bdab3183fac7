"""Use cases about schedules: keep them, say when they are due, start their campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from pydantic import TypeAdapter, ValidationError

from lastbyte.domain.errors import Conflict, InvalidInput
from lastbyte.domain.schedule import ON_TIME, MissedPolicy, OverlapPolicy, RunOutcome, RunTrigger, ScheduleSpec
from lastbyte.ports import CampaignPlan, ClaimedSchedule, ScheduleRecord, ScheduleRun, ScheduleStore, Settlement
from lastbyte.services import cron
from lastbyte.services.campaigns import CampaignRequest, Campaigns

SHOWN_TIMES = 5
MOST_PER_TICK = 100
"""Schedules that one tick settles; the next tick goes on."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a schedule would do."""

    words: str
    next_times: tuple[datetime, ...]
    """In its zone."""
    clock_notes: tuple[str, ...]
    plan: CampaignPlan | None


class Schedules:
    """Keeps schedules and starts what is due."""

    def __init__(self, store: ScheduleStore, campaigns: Campaigns) -> None:
        self._store = store
        self._campaigns = campaigns

    def preview(self, cron_text: str, time_zone: str, request: CampaignRequest | None = None) -> Preview:
        """What it would do from now on. Raises InvalidInput naming the field (``template.…`` for the campaign's)."""
        now = datetime.now(UTC)
        times = cron.next_times(cron_text, time_zone, now, SHOWN_TIMES)
        plan = self._planned(request) if request is not None else None
        return Preview(cron.words(cron_text), tuple(times), tuple(cron.clock_notes(cron_text, time_zone, now)), plan)

    def create(self, spec: ScheduleSpec) -> ScheduleRecord:
        """Raises InvalidInput naming the field, and Conflict when the name is taken."""
        self._check(spec)
        return self._store.create(spec, _first_due(spec))

    def update(self, schedule_id: int, spec: ScheduleSpec) -> ScheduleRecord:
        """Due times count anew from now when cron, zone or the switch changed. Raises as ``create``, and NotFound."""
        self._check(spec)
        known = self._store.get(schedule_id)
        before, after = known.spec, spec
        same = (before.cron, before.time_zone, before.enabled) == (after.cron, after.time_zone, after.enabled)
        return self._store.update(schedule_id, spec, known.next_due_at if same else _first_due(spec))

    def run_now(self, schedule_id: int) -> ScheduleRun:
        """Start it at once, whether or not it is enabled. Raises NotFound, InvalidInput when the template can't be
        planned, and Conflict when the one before still runs and the schedule does not queue."""

        def decide(claimed: ClaimedSchedule) -> Settlement:
            found = self._start(claimed, RunTrigger.MANUAL, claimed.now, strict=True)
            if found.outcome is RunOutcome.SKIPPED:
                raise Conflict(found.reason)
            return found

        run = self._store.settle_now(schedule_id, decide)
        assert run is not None  # noqa: S101 - decide() always settles
        return run

    def tick(self) -> list[ScheduleRun]:
        """Settle all that is due now, each due time once, however many callers do this at the same time."""
        runs: list[ScheduleRun] = []
        while len(runs) < MOST_PER_TICK:
            run = self._store.settle_next(self._settle)
            if run is None:
                break
            runs.append(run)
        return runs

    def _settle(self, claimed: ClaimedSchedule) -> Settlement | None:
        spec, now = claimed.spec, claimed.now
        if claimed.due_at is None:
            waiting = claimed.waiting
            if waiting is None or claimed.open_campaign_id is not None:
                return None
            return self._start(replace(claimed, waiting=None), waiting.trigger, waiting.due_at)
        late = now - claimed.due_at
        try:
            # Of what was missed nothing is asked again; but what is due within the last two minutes still is.
            following = cron.next_time(spec.cron, spec.time_zone, max(claimed.due_at, now - ON_TIME))
        except InvalidInput as exc:  # a zone that this machine's tables no longer have
            return Settlement(RunOutcome.FAILED, RunTrigger.DUE, claimed.due_at, str(exc))
        if late <= ON_TIME:
            return replace(self._start(claimed, RunTrigger.DUE, claimed.due_at), next_due_at=following)
        if spec.missed is MissedPolicy.CATCH_UP:
            return replace(self._start(claimed, RunTrigger.CATCH_UP, claimed.due_at), next_due_at=following)
        reason = f"Missed: nothing started schedules then; it was noticed {_duration(late.total_seconds())} later."
        return Settlement(RunOutcome.SKIPPED, RunTrigger.DUE, claimed.due_at, reason, next_due_at=following)

    def _start(
        self, claimed: ClaimedSchedule, trigger: RunTrigger, due_at: datetime, *, strict: bool = False
    ) -> Settlement:
        if claimed.open_campaign_id is not None:
            return _overlapping(claimed, trigger, due_at)
        try:
            plan = self._planned(request_of(claimed.spec.template), f"{claimed.spec.name}, {_local(claimed, due_at)}")
        except InvalidInput as exc:
            if strict:
                raise
            return Settlement(RunOutcome.FAILED, trigger, due_at, f"The template can't be planned: {exc}")
        return Settlement(RunOutcome.STARTED, trigger, due_at, plan=plan)

    def _check(self, spec: ScheduleSpec) -> None:
        cron.check(spec.cron, spec.time_zone)
        if spec.enabled:  # one that is put aside may hold names that are not here yet
            self._planned(request_of(spec.template))

    def _planned(self, request: CampaignRequest, name: str = "") -> CampaignPlan:
        try:
            return self._campaigns.plan(request if request.name or not name else replace(request, name=name))
        except InvalidInput as exc:
            raise InvalidInput(f"template.{exc.field}", exc.message, exc.remedy) from exc


@lru_cache(maxsize=1)
def _requests() -> TypeAdapter[CampaignRequest]:
    return TypeAdapter(CampaignRequest)


def template_of(request: CampaignRequest) -> Mapping[str, object]:
    """A campaign's request as JSON values, to be kept."""
    kept: dict[str, object] = _requests().dump_python(request, mode="json")
    return kept


def request_of(template: Mapping[str, object]) -> CampaignRequest:
    """The reverse of ``template_of``; raises InvalidInput for one of another version that can't be read here."""
    try:
        return _requests().validate_python(dict(template))
    except ValidationError as exc:
        first = exc.errors()[0]
        field = ".".join(("template", *(str(part) for part in first["loc"])))
        raise InvalidInput(field, first["msg"], "Save the template anew.") from exc


def _first_due(spec: ScheduleSpec) -> datetime | None:
    return cron.next_time(spec.cron, spec.time_zone, datetime.now(UTC)) if spec.enabled else None


def _overlapping(claimed: ClaimedSchedule, trigger: RunTrigger, due_at: datetime) -> Settlement:
    before = f"campaign {claimed.open_campaign_id} of this schedule is not over yet"
    if claimed.spec.overlap is OverlapPolicy.SKIP:
        return Settlement(RunOutcome.SKIPPED, trigger, due_at, f"Skipped: {before}.")
    if claimed.waiting is not None:
        return Settlement(RunOutcome.SKIPPED, trigger, due_at, f"Skipped: one start waits already, for {before}.")
    return Settlement(RunOutcome.QUEUED, trigger, due_at, f"Waits: {before}.")


def _local(claimed: ClaimedSchedule, moment: datetime) -> str:
    return f"{moment.astimezone(cron.zone(claimed.spec.time_zone)):%Y-%m-%d %H:%M}"


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    if minutes < 120:
        return f"{minutes} minutes"
    hours = minutes // 60
    return f"{hours} hours" if hours < 48 else f"{hours // 24} days"

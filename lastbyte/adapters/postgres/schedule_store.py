"""Schedules and their runs: ``lastbyte.ports.ScheduleStore`` on PostgreSQL.

A due time is settled in one transaction: the schedule's row is locked (others skip it), the campaign with all its
cells, the run and the next due time are stored together. So a due time starts once or, when the process dies midway,
is still due. The unique key (schedule, due time) of the runs would stop a second start even without the lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from psycopg.errors import UniqueViolation
from sqlalchemy import Connection, Engine, Row, Select, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from lastbyte.adapters.postgres import codec, paging
from lastbyte.adapters.postgres.campaign_store import insert_campaign
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import CampaignRow, ScheduleRow, ScheduleRunRow
from lastbyte.domain.campaign import CampaignState
from lastbyte.domain.errors import Conflict, NotFound
from lastbyte.domain.schedule import MissedPolicy, OverlapPolicy, RunOutcome, RunTrigger, ScheduleSpec
from lastbyte.ports import ClaimedSchedule, Decide, ScheduleRecord, ScheduleRun, Settlement, Slice

_OPEN_CAMPAIGN = """
    SELECT campaigns.id
      FROM schedule_runs JOIN campaigns ON campaigns.id = schedule_runs.campaign_id
     WHERE schedule_runs.schedule_id = {schedule} AND campaigns.finished_at IS NULL
"""

_NEXT = text(f"""
    SELECT id FROM schedules
     WHERE next_due_at <= clock_timestamp()
        OR (EXISTS (SELECT FROM schedule_runs
                     WHERE schedule_runs.schedule_id = schedules.id AND outcome = 'queued')
            AND NOT EXISTS ({_OPEN_CAMPAIGN.format(schedule="schedules.id")}))
  ORDER BY next_due_at NULLS LAST, id
     LIMIT 1
       FOR UPDATE SKIP LOCKED
""")  # noqa: S608 - put together from constants

_THIS = text("SELECT id FROM schedules WHERE id = :schedule FOR UPDATE")

# After the lock, so that what the holder before us changed is seen.
_FACTS = text(f"""
    SELECT schedules.*, clock_timestamp() AS now, ({_OPEN_CAMPAIGN.format(schedule="schedules.id")} LIMIT 1) AS open
      FROM schedules WHERE id = :schedule
""")  # noqa: S608 - as above

_LATEST = func.row_number().over(partition_by=ScheduleRunRow.schedule_id, order_by=ScheduleRunRow.id.desc())


class PostgresScheduleStore:
    """``lastbyte.ports.ScheduleStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(self, spec: ScheduleSpec, next_due_at: datetime | None) -> ScheduleRecord:
        """Raises Conflict when the name is taken."""
        with _unique_name(spec.name), transaction(self._engine) as connection:
            new = insert(ScheduleRow).values(**_columns(spec, next_due_at)).returning(ScheduleRow.id)
            return _get(connection, connection.execute(new).scalar_one())

    def get(self, schedule_id: int) -> ScheduleRecord:
        """Raises NotFound."""
        with transaction(self._engine) as connection:
            return _get(connection, schedule_id)

    def page(self, limit: int, cursor: str | None) -> Slice[ScheduleRecord]:
        """By name; raises InvalidInput for a cursor that is none."""
        query = select(ScheduleRow.__table__).order_by(ScheduleRow.name).limit(limit + 1)
        if cursor is not None:
            query = query.where(ScheduleRow.name > paging.decode(cursor, str)[0])
        with transaction(self._engine) as connection:
            rows = connection.execute(query).all()
            total = connection.execute(select(func.count()).select_from(ScheduleRow)).scalar_one()
            items = tuple(_records(connection, rows[:limit]))
        return Slice(items, total, paging.encode(items[-1].spec.name) if len(rows) > limit else None)

    def update(self, schedule_id: int, spec: ScheduleSpec, next_due_at: datetime | None) -> ScheduleRecord:
        """Replace all but its runs; a waiting run of a disabled schedule is skipped. Raises NotFound and Conflict."""
        with _unique_name(spec.name), transaction(self._engine) as connection:
            connection.execute(
                update(ScheduleRow).where(ScheduleRow.id == schedule_id).values(**_columns(spec, next_due_at))
            )
            if not spec.enabled:
                connection.execute(
                    update(ScheduleRunRow)
                    .where(ScheduleRunRow.schedule_id == schedule_id, ScheduleRunRow.outcome == RunOutcome.QUEUED.value)
                    .values(outcome=RunOutcome.SKIPPED.value, reason="Skipped: the schedule was disabled meanwhile.")
                )
            return _get(connection, schedule_id)

    def delete(self, schedule_id: int) -> None:
        """With its runs; their campaigns stay. Raises NotFound."""
        with transaction(self._engine) as connection:
            gone = delete(ScheduleRow).where(ScheduleRow.id == schedule_id).returning(ScheduleRow.id)
            if connection.execute(gone).one_or_none() is None:
                raise NotFound("schedule", str(schedule_id))

    def runs(self, schedule_id: int, limit: int, cursor: str | None) -> Slice[ScheduleRun]:
        """Newest first. Raises NotFound, and InvalidInput for a cursor that is none."""
        query = _runs().where(ScheduleRunRow.schedule_id == schedule_id)
        if cursor is not None:
            query = query.where(ScheduleRunRow.id < paging.decode(cursor, int)[0])
        count = select(func.count()).select_from(ScheduleRunRow).where(ScheduleRunRow.schedule_id == schedule_id)
        with transaction(self._engine) as connection:
            _get(connection, schedule_id)
            rows = connection.execute(query.order_by(ScheduleRunRow.id.desc()).limit(limit + 1)).all()
            total = connection.execute(count).scalar_one()
        items = tuple(_run(row) for row in rows[:limit])
        return Slice(items, total, paging.encode(items[-1].id) if len(rows) > limit else None)

    def settle_next(self, decide: Decide) -> ScheduleRun | None:
        """Claim one schedule that is due or whose waiting run may start, and store what ``decide`` says; None when
        there is none. Callers anywhere may do this at the same time: each due time is settled once."""
        with transaction(self._engine) as connection:
            found = connection.execute(_NEXT).scalar_one_or_none()
            return None if found is None else _settle(connection, found, decide, forced=False)

    def settle_now(self, schedule_id: int, decide: Decide) -> ScheduleRun | None:
        """The same for a schedule that a person wants run. Raises NotFound."""
        with transaction(self._engine) as connection:
            if connection.execute(_THIS, {"schedule": schedule_id}).one_or_none() is None:
                raise NotFound("schedule", str(schedule_id))
            return _settle(connection, schedule_id, decide, forced=True)


def _settle(connection: Connection, schedule_id: int, decide: Decide, *, forced: bool) -> ScheduleRun | None:
    facts = connection.execute(_FACTS, {"schedule": schedule_id}).one()
    waiting = connection.execute(
        _runs().where(ScheduleRunRow.schedule_id == schedule_id, ScheduleRunRow.outcome == RunOutcome.QUEUED.value)
    ).one_or_none()
    is_due = not forced and facts.next_due_at is not None and facts.next_due_at <= facts.now
    claimed = ClaimedSchedule(
        id=schedule_id,
        spec=_spec(facts),
        now=facts.now,
        due_at=facts.next_due_at if is_due else None,
        open_campaign_id=str(facts.open) if facts.open is not None else None,
        waiting=_run(waiting) if waiting is not None else None,
    )
    settlement = decide(claimed)
    if settlement is None:
        return None
    campaign_id = insert_campaign(connection, settlement.plan) if settlement.plan is not None else None
    run_id = _store_run(connection, claimed, settlement, campaign_id, again=not forced and not is_due)
    if settlement.next_due_at is not None:
        connection.execute(
            update(ScheduleRow).where(ScheduleRow.id == schedule_id).values(next_due_at=settlement.next_due_at)
        )
    elif is_due:  # no next time can be told: put aside rather than due for ever
        connection.execute(
            update(ScheduleRow).where(ScheduleRow.id == schedule_id).values(enabled=False, next_due_at=None)
        )
    return _run(connection.execute(_runs().where(ScheduleRunRow.id == run_id)).one())


def _store_run(
    connection: Connection, claimed: ClaimedSchedule, settlement: Settlement, campaign_id: Any, *, again: bool
) -> int:
    values = {
        "outcome": settlement.outcome.value,
        "trigger": settlement.trigger.value,
        "reason": codec.storable(settlement.reason),
        "campaign_id": campaign_id,
    }
    if again and claimed.waiting is not None:
        connection.execute(update(ScheduleRunRow).where(ScheduleRunRow.id == claimed.waiting.id).values(**values))
        return claimed.waiting.id
    new = insert(ScheduleRunRow).values(schedule_id=claimed.id, due_at=settlement.due_at, **values)
    ident: int = connection.execute(new.returning(ScheduleRunRow.id)).scalar_one()
    return ident


@contextmanager
def _unique_name(name: str) -> Iterator[None]:
    try:
        yield
    except IntegrityError as exc:
        if isinstance(exc.orig, UniqueViolation):
            raise Conflict(f"There is a schedule named {name!r} already.") from exc
        raise


def _columns(spec: ScheduleSpec, next_due_at: datetime | None) -> dict[str, Any]:
    return {
        "name": spec.name,
        "cron": spec.cron,
        "time_zone": spec.time_zone,
        "template": dict(spec.template),
        "enabled": spec.enabled,
        "missed": spec.missed.value,
        "overlap": spec.overlap.value,
        "next_due_at": next_due_at,
    }


def _spec(row: Row[Any]) -> ScheduleSpec:
    return ScheduleSpec(
        name=row.name,
        cron=row.cron,
        time_zone=row.time_zone,
        template=row.template,
        enabled=row.enabled,
        missed=MissedPolicy(row.missed),
        overlap=OverlapPolicy(row.overlap),
    )


def _get(connection: Connection, schedule_id: int) -> ScheduleRecord:
    rows = connection.execute(select(ScheduleRow.__table__).where(ScheduleRow.id == schedule_id)).all()
    if not rows:
        raise NotFound("schedule", str(schedule_id))
    return _records(connection, rows)[0]


def _records(connection: Connection, rows: Sequence[Row[Any]]) -> list[ScheduleRecord]:
    newest = (
        select(ScheduleRunRow.id, _LATEST.label("place"))
        .where(ScheduleRunRow.schedule_id.in_([row.id for row in rows]))
        .subquery()
    )
    last = {
        run.schedule_id: _run(run)
        for run in connection.execute(_runs().join(newest, newest.c.id == ScheduleRunRow.id).where(newest.c.place == 1))
    }
    return [ScheduleRecord(row.id, _spec(row), row.created_at, row.next_due_at, last.get(row.id)) for row in rows]


def _runs() -> Select[Any]:
    return select(ScheduleRunRow.__table__, CampaignRow.state.label("campaign_state")).outerjoin(
        CampaignRow, CampaignRow.id == ScheduleRunRow.campaign_id
    )


def _run(row: Row[Any]) -> ScheduleRun:
    return ScheduleRun(
        id=row.id,
        schedule_id=row.schedule_id,
        due_at=row.due_at,
        trigger=RunTrigger(row.trigger),
        outcome=RunOutcome(row.outcome),
        reason=row.reason,
        campaign_id=str(row.campaign_id) if row.campaign_id is not None else None,
        campaign_state=CampaignState(row.campaign_state) if row.campaign_state is not None else None,
        created_at=row.created_at,
    )

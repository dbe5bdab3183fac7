"""Schedules on a real database: each due time starts once, missed and overlapping ones as the policy says."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.adapters.postgres.schedule_store import PostgresScheduleStore
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.domain.errors import Conflict, InvalidInput, NotFound
from lastbyte.domain.schedule import MissedPolicy, OverlapPolicy, RunOutcome, RunTrigger, ScheduleSpec
from lastbyte.ports import ClaimedSchedule, ScheduleRun
from lastbyte.services.campaigns import CampaignRequest, Campaigns
from lastbyte.services.schedules import Schedules, template_of

TEMPLATE = template_of(CampaignRequest(["testbed-caddy-100KB"], ["baseline"], ["curl-quiche"], rounds=2))


def spec(name: str = "sample", **changes: object) -> ScheduleSpec:
    return ScheduleSpec(**{"name": name, "cron": "15 3 * * *", "time_zone": "UTC", "template": TEMPLATE, **changes})  # type: ignore[arg-type]


def use_case(engine: Engine) -> Schedules:
    campaigns = Campaigns(
        PostgresCampaignStore(engine),
        PostgresCatalogue(engine),
        PostgresVantageStore(engine),
        None,
        "local",
        30.0,  # type: ignore[arg-type]
    )
    return Schedules(PostgresScheduleStore(engine), campaigns)


@pytest.fixture
def schedules(engine: Engine, catalogue: PostgresCatalogue) -> Schedules:
    return use_case(engine)


@pytest.fixture
def store(engine: Engine) -> PostgresScheduleStore:
    return PostgresScheduleStore(engine)


def make_due(engine: Engine, schedule_id: int, ago: timedelta = timedelta(seconds=1)) -> datetime:
    due_at = datetime.now(UTC).replace(microsecond=0) - ago
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE schedules SET next_due_at = :at WHERE id = :id"), {"at": due_at, "id": schedule_id}
        )
    return due_at


def end_campaigns(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE campaigns SET state = 'done', finished_at = now()"))


def test_the_shipped_example_is_put_aside_and_can_be_planned(store: PostgresScheduleStore) -> None:
    (nightly,) = store.page(10, None).items
    assert (nightly.spec.name, nightly.spec.enabled, nightly.next_due_at) == ("nightly", False, None)
    assert all(str(name).startswith("testbed-") for name in nightly.spec.template["endpoints"])  # type: ignore[attr-defined]


def test_a_due_time_starts_its_campaign_and_the_next_one_is_set(engine: Engine, schedules: Schedules) -> None:
    made = schedules.create(spec())
    assert made.next_due_at is not None
    assert (made.next_due_at.hour, made.next_due_at.minute) == (3, 15)
    assert schedules.tick() == []
    due_at = make_due(engine, made.id)
    (run,) = schedules.tick()
    assert (run.due_at, run.trigger, run.outcome, run.reason) == (due_at, RunTrigger.DUE, RunOutcome.STARTED, "")
    assert run.campaign_id is not None
    campaign = PostgresCampaignStore(engine).get(run.campaign_id)
    assert campaign.spec.name == f"sample, {due_at:%Y-%m-%d %H:%M}"
    assert schedules.tick() == []
    after = PostgresScheduleStore(engine).get(made.id)
    assert after.last_run == run
    assert after.next_due_at is not None
    assert after.next_due_at > datetime.now(UTC)


def test_many_tickers_at_once_start_each_due_time_once(engine: Engine, database_url: str, schedules: Schedules) -> None:
    made = [schedules.create(spec(f"s{number}")) for number in range(12)]
    for schedule in made:
        make_due(engine, schedule.id)
    gate = threading.Barrier(4)

    def tick(number: int) -> list[ScheduleRun]:
        own = make_engine(database_url, f"ticker {number}", pool_size=2)
        gate.wait()
        try:
            return use_case(own).tick()
        finally:
            own.dispose()

    with ThreadPoolExecutor(4) as pool:
        runs = [run for found in pool.map(tick, range(4)) for run in found]
    assert sorted(run.schedule_id for run in runs) == sorted(schedule.id for schedule in made)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM campaigns")).scalar_one() == 12
        assert connection.execute(text("SELECT count(*) FROM schedule_runs")).scalar_one() == 12


def test_one_who_dies_midway_leaves_the_time_due(engine: Engine, schedules: Schedules) -> None:
    made = schedules.create(spec())
    make_due(engine, made.id)

    def dies(_claimed: ClaimedSchedule) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PostgresScheduleStore(engine).settle_next(dies)
    assert [run.outcome for run in schedules.tick()] == [RunOutcome.STARTED]


@pytest.mark.parametrize(
    ("missed", "trigger", "outcome"),
    [
        (MissedPolicy.SKIP, RunTrigger.DUE, RunOutcome.SKIPPED),
        (MissedPolicy.CATCH_UP, RunTrigger.CATCH_UP, RunOutcome.STARTED),
    ],
)
def test_what_was_missed_for_days_is_skipped_or_caught_up_once(
    engine: Engine, schedules: Schedules, missed: MissedPolicy, trigger: RunTrigger, outcome: RunOutcome
) -> None:
    made = schedules.create(spec(missed=missed))
    due_at = make_due(engine, made.id, timedelta(days=3))
    (run,) = schedules.tick()
    assert (run.due_at, run.trigger, run.outcome) == (due_at, trigger, outcome)
    if outcome is RunOutcome.SKIPPED:
        assert "3 days later" in run.reason
    assert schedules.tick() == []


def test_overlap_is_skipped(engine: Engine, schedules: Schedules) -> None:
    made = schedules.create(spec())
    make_due(engine, made.id, timedelta(seconds=60))
    (first,) = schedules.tick()
    make_due(engine, made.id)
    (second,) = schedules.tick()
    assert second.outcome is RunOutcome.SKIPPED
    assert str(first.campaign_id) in second.reason
    with pytest.raises(Conflict, match="not over yet"):
        schedules.run_now(made.id)


def test_overlap_is_queued_once_and_starts_when_the_one_before_is_over(engine: Engine, schedules: Schedules) -> None:
    made = schedules.create(spec(overlap=OverlapPolicy.QUEUE))
    make_due(engine, made.id, timedelta(seconds=90))
    schedules.tick()
    make_due(engine, made.id, timedelta(seconds=60))
    (waiting,) = schedules.tick()
    assert waiting.outcome is RunOutcome.QUEUED
    make_due(engine, made.id)
    (third,) = schedules.tick()
    assert (third.outcome, "one start waits already" in third.reason) == (RunOutcome.SKIPPED, True)
    assert schedules.tick() == []
    end_campaigns(engine)
    (started,) = schedules.tick()
    assert (started.id, started.due_at, started.outcome) == (waiting.id, waiting.due_at, RunOutcome.STARTED)
    assert schedules.tick() == []


def test_disabling_drops_what_waits(engine: Engine, schedules: Schedules, store: PostgresScheduleStore) -> None:
    made = schedules.create(spec(overlap=OverlapPolicy.QUEUE))
    schedules.run_now(made.id)
    assert schedules.run_now(made.id).outcome is RunOutcome.QUEUED
    schedules.update(made.id, spec(overlap=OverlapPolicy.QUEUE, enabled=False))
    end_campaigns(engine)
    assert schedules.tick() == []
    newest = store.runs(made.id, 10, None).items[0]
    assert (newest.outcome, newest.reason) == (RunOutcome.SKIPPED, "Skipped: the schedule was disabled meanwhile.")


def test_run_now_works_for_a_disabled_one(schedules: Schedules, store: PostgresScheduleStore) -> None:
    made = schedules.create(spec(enabled=False))
    assert made.next_due_at is None
    run = schedules.run_now(made.id)
    assert (run.trigger, run.outcome) == (RunTrigger.MANUAL, RunOutcome.STARTED)
    assert store.get(made.id).next_due_at is None
    with pytest.raises(NotFound):
        schedules.run_now(10**9)


def test_a_template_that_no_longer_fits_fails_with_the_field(engine: Engine, schedules: Schedules) -> None:
    made = schedules.create(spec())
    with engine.begin() as connection:
        connection.execute(text("UPDATE profiles SET active = false WHERE name = 'baseline'"))
    make_due(engine, made.id)
    (run,) = schedules.tick()
    assert run.outcome is RunOutcome.FAILED
    assert "template.profiles.0" in run.reason
    with pytest.raises(InvalidInput) as caught:
        schedules.run_now(made.id)
    assert caught.value.field == "template.profiles.0"


def test_a_change_of_the_time_counts_from_now_and_other_changes_do_not(schedules: Schedules) -> None:
    made = schedules.create(spec())
    renamed = schedules.update(made.id, spec("other"))
    assert renamed.next_due_at == made.next_due_at
    moved = schedules.update(made.id, spec("other", time_zone="Asia/Kolkata"))
    assert moved.next_due_at is not None
    assert (moved.next_due_at.hour, moved.next_due_at.minute) == (21, 45)
    with pytest.raises(Conflict, match="'nightly'"):
        schedules.update(made.id, spec("nightly"))


def test_deleting_keeps_campaigns_and_a_deleted_campaign_keeps_the_run(
    engine: Engine, schedules: Schedules, store: PostgresScheduleStore
) -> None:
    made = schedules.create(spec())
    first = schedules.run_now(made.id)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM campaigns WHERE id = :id"), {"id": first.campaign_id})
    assert store.runs(made.id, 10, None).items[0].campaign_id is None
    second = schedules.run_now(made.id)
    store.delete(made.id)
    assert second.campaign_id is not None
    assert PostgresCampaignStore(engine).get(second.campaign_id)
    with pytest.raises(NotFound):
        store.get(made.id)


def test_pages(schedules: Schedules, store: PostgresScheduleStore) -> None:
    for number in range(4):
        schedules.create(spec(f"s{number}"))
    first = store.page(3, None)
    assert [record.spec.name for record in first.items] == ["nightly", "s0", "s1"]
    assert first.total == 5
    assert [record.spec.name for record in store.page(3, first.next).items] == ["s2", "s3"]

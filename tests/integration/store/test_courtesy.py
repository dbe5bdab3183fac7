"""Courtesy towards hosts that are not ours, between the stores of two workers on a real PostgreSQL."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.domain.courtesy import CourtesyBudget
from lastbyte.domain.endpoint import Origin
from lastbyte.ports import CampaignPlan
from tests.integration.samples import ENDPOINTS, H2, H3, good, plan, proof

HOST = "testbed-caddy.test"
TIGHT = CourtesyBudget(requests_per_day=3, bytes_per_day=10**9, min_gap_s=0.2)


def production(profiles: int = 1, endpoints: int = 2) -> CampaignPlan:
    """The sample campaign on two paths of one host that is not ours."""
    sample = plan(endpoints, profiles)
    return replace(sample, endpoints=tuple(replace(e, origin=Origin.PRODUCTION) for e in sample.endpoints))


def open_cells(campaigns: PostgresCampaignStore, campaign_id: str) -> list[int]:
    return [cell.cell_id for cell in campaigns.dispatchable_cells(100, campaign_id)]


def workers(engine: Engine, budget: CourtesyBudget) -> tuple[PostgresCellStore, PostgresCellStore]:
    return PostgresCellStore(engine, budget), PostgresCellStore(engine, budget)


def asked_today(engine: Engine) -> tuple[int, int]:
    with engine.connect() as connection:
        row = connection.execute(text("SELECT requests, bytes FROM hosts WHERE host = :host"), {"host": HOST}).one()
        return int(row.requests), int(row.bytes)


def age(engine: Engine, days: int = 0, minutes: int = 0) -> None:
    """As if the host had last been asked that much earlier."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE hosts SET day = day - :days, last_at = last_at - make_interval(days => :days, mins => :minutes)"
            ),
            {"days": days, "minutes": minutes},
        )


def wake(engine: Engine) -> None:
    """As if the cells' waiting time were over."""
    with engine.begin() as connection:
        connection.execute(text("UPDATE cells SET not_before = now() - interval '1 s' WHERE not_before IS NOT NULL"))


def test_one_cell_at_a_time_is_measured_on_a_host_across_workers(
    engine: Engine, campaigns: PostgresCampaignStore
) -> None:
    first, second = workers(engine, CourtesyBudget())
    ident = campaigns.create(production())
    here, there = open_cells(campaigns, ident)
    assert first.claim(here, "w1", 60)
    assert second.claim(there, "w2", 60) is None
    assert campaigns.get(ident).progress.waiting_for == (f"Another cell is measured on {HOST} now.",)
    assert open_cells(campaigns, ident) == [], "a cell that waits is not handed out"
    first.finish(here, "w1")
    assert second.claim(there, "w2", 60) is None, "not before its time"
    wake(engine)
    assert open_cells(campaigns, ident) == [there]
    assert second.claim(there, "w2", 60)
    assert campaigns.get(ident).progress.waiting_for == ()


def test_a_dead_worker_does_not_keep_a_host(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    first, second = workers(engine, CourtesyBudget())
    here, there = open_cells(campaigns, campaigns.create(production()))
    assert first.claim(here, "w1", 60)
    with engine.begin() as connection:
        connection.execute(text("UPDATE cells SET lease_until = now() - interval '1 s' WHERE id = :id"), {"id": here})
    assert second.claim(there, "w2", 60)
    assert not first.reserve_request(here, "w1").granted or first.claim(here, "w1", 60) is None


def test_of_claims_at_the_same_moment_one_gets_the_host(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    for _ in range(5):
        idents = [campaigns.create(production(endpoints=1)) for _ in range(4)]
        numbers = [cell for ident in idents for cell in open_cells(campaigns, ident)]
        gate = threading.Barrier(len(numbers))

        def attempt(cell: int, gate: threading.Barrier = gate) -> bool:
            gate.wait()
            return PostgresCellStore(engine).claim(cell, f"w{cell}", 60) is not None

        with ThreadPoolExecutor(len(numbers)) as pool:
            assert list(pool.map(attempt, numbers)).count(True) == 1
        for ident in idents:
            campaigns.cancel(ident)


def test_the_testbed_is_measured_by_as_many_as_like(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    first, second = workers(engine, replace(TIGHT, requests_per_day=0))
    here, there = open_cells(campaigns, campaigns.create(plan()))
    assert first.claim(here, "w1", 60)
    assert second.claim(there, "w2", 60)
    assert first.reserve_request(here, "w1").granted


def test_requests_of_all_workers_count_to_one_budget(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    first, second = workers(engine, TIGHT)
    ident = campaigns.create(production())
    here, there = open_cells(campaigns, ident)
    assert first.claim(here, "w1", 60)
    assert first.reserve_request(here, "w1").granted
    assert first.reserve_request(here, "w1").granted
    first.finish(here, "w1")
    assert second.claim(there, "w2", 60)
    assert second.reserve_request(there, "w2").granted
    refused = second.reserve_request(there, "w2")
    assert not refused.granted
    assert asked_today(engine)[0] == 3, "what is refused is not counted"
    assert f"budget for {HOST} is used up (3 of 3 requests" in refused.reason
    assert refused.not_before is not None
    midnight = refused.not_before.astimezone(UTC)
    assert (midnight.hour, midnight.minute, midnight.second) == (0, 0, 0)
    assert midnight > datetime.now(UTC)

    second.release(there, "w2", refused.reason, refused.not_before)
    assert open_cells(campaigns, ident) == []
    assert campaigns.get(ident).progress.waiting_for == (refused.reason,)
    assert second.claim(there, "w2", 60) is None


def test_a_used_up_host_holds_up_nothing_else(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    store = PostgresCellStore(engine, TIGHT)
    mixed = plan(endpoints=3)
    mixed = replace(
        mixed,
        endpoints=tuple(replace(e, origin=Origin.PRODUCTION) if e in ENDPOINTS[:2] else e for e in mixed.endpoints),
    )
    ident = campaigns.create(mixed)
    here, there, ours = open_cells(campaigns, ident)
    assert store.claim(here, "w", 60)
    for _ in range(4):
        permission = store.reserve_request(here, "w")
    store.release(here, "w", permission.reason, permission.not_before)
    assert store.claim(there, "w", 60) is None, "the same host"
    assert open_cells(campaigns, ident) == [ours]
    assert store.claim(ours, "w", 60)


def test_the_next_day_begins_anew(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    store = PostgresCellStore(engine, TIGHT)
    here, _ = open_cells(campaigns, campaigns.create(production()))
    assert store.claim(here, "w", 60)
    assert [store.reserve_request(here, "w").granted for _ in range(4)] == [True, True, True, False]
    age(engine, days=1)
    assert store.reserve_request(here, "w").granted
    assert asked_today(engine) == (1, 0)


def test_bytes_are_counted_with_the_trial_and_once(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    store = PostgresCellStore(engine, replace(TIGHT, bytes_per_day=200_000))
    here, _ = open_cells(campaigns, campaigns.create(production()))
    assert store.claim(here, "w", 60)
    store.store_proof(here, "w", proof())
    assert store.reserve_request(here, "w").granted
    assert store.store_trial(here, "w", good(0, H2))
    assert store.store_trial(here, "w", good(0, H2)), "offered twice after a lost answer"
    assert asked_today(engine) == (1, 105_000)
    assert store.reserve_request(here, "w").granted
    assert store.store_trial(here, "w", good(0, H3))
    refused = store.reserve_request(here, "w")
    assert not refused.granted
    assert "of 0.0002 GB" in refused.reason


def test_the_pause_is_from_the_end_of_one_fetch_to_the_start_of_the_next(
    engine: Engine, campaigns: PostgresCampaignStore
) -> None:
    store = PostgresCellStore(engine, CourtesyBudget(min_gap_s=5.0))
    here, _ = open_cells(campaigns, campaigns.create(production()))
    assert store.claim(here, "w", 60)
    assert store.reserve_request(here, "w").wait_s == 0
    store.store_trial(here, "w", good(0, H2))
    assert store.reserve_request(here, "w").wait_s == pytest.approx(5.0, abs=1.0)
    age(engine, minutes=1)
    assert store.reserve_request(here, "w").wait_s == 0


def test_a_worker_that_lost_its_cell_may_fetch_no_more(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    first, second = workers(engine, CourtesyBudget())
    here, _ = open_cells(campaigns, campaigns.create(production()))
    assert first.claim(here, "w1", 60)
    with engine.begin() as connection:
        connection.execute(text("UPDATE cells SET lease_until = now() - interval '1 s'"))
    assert second.claim(here, "w2", 60)
    assert not first.reserve_request(here, "w1").granted
    assert second.reserve_request(here, "w2").granted

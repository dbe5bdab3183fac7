from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.campaign import CampaignState, CellState
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import StoreUnavailable
from lastbyte.domain.trial import FailureKind
from lastbyte.ports import TrialFilter
from tests.integration.samples import BUILD, CLIENTS, ENDPOINTS, H2, H3, PROFILES, bad, good, plan, proof


def expire(engine: Engine, cell_id: int) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE cells SET lease_until = now() - interval '1 s' WHERE id = :id"), {"id": cell_id}
        )


def cell_ids(campaigns: PostgresCampaignStore, campaign_id: str) -> list[int]:
    return [cell.cell_id for cell in campaigns.dispatchable_cells(100, campaign_id)]


def test_claim_gives_the_whole_plan(campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
    campaign_id = campaigns.create(plan())
    first, _ = cell_ids(campaigns, campaign_id)
    claimed = cells.claim(first, "w1", 60)
    assert claimed is not None
    assert (claimed.campaign_id, claimed.seed, claimed.rounds, claimed.timeout_s) == (campaign_id, 7, 2, 30.0)
    assert claimed.endpoint == ENDPOINTS[0]
    assert claimed.profile == PROFILES[0]
    assert claimed.clients == tuple(CLIENTS)
    assert claimed.done == frozenset()
    assert campaigns.get(campaign_id).state is CampaignState.RUNNING


def test_what_is_measured_is_frozen_at_planning(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, catalogue: PostgresCatalogue
) -> None:
    (cell,) = cell_ids(campaigns, campaigns.create(plan(endpoints=1)))
    moved = Endpoint(id=ENDPOINTS[0].id, provider="other", url="https://moved.test/x", size_label="9MB")
    catalogue.sync([moved], [], [])
    claimed = cells.claim(cell, "w1", 60)
    assert claimed is not None
    assert claimed.endpoint == ENDPOINTS[0]
    assert claimed.profile == PROFILES[0]


def test_claim_respects_leases(engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
    (cell,) = cell_ids(campaigns, campaigns.create(plan(endpoints=1)))
    assert cells.claim(cell, "w1", 60)
    assert cells.claim(cell, "w2", 60) is None
    assert cells.claim(cell, "w1", 60), "the same worker may take it again after a redelivery"
    expire(engine, cell)
    assert cells.claim(cell, "w2", 60), "a lease that ran out is free"
    assert not cells.extend_lease(cell, "w1", 60)
    assert cells.extend_lease(cell, "w2", 60)
    assert not cells.store_trial(cell, "w1", good(0, H2)), "the former holder may store nothing"
    cells.release(cell, "w1")
    assert cells.claim(cell, "w3", 60) is None, "nor give away what it lost"
    cells.release(cell, "w2")
    assert cells.claim(cell, "w3", 60)


def test_unknown_cell_is_not_claimed(cells: PostgresCellStore) -> None:
    assert cells.claim(10**12, "w1", 60) is None
    cells.finish(10**12, "w1")
    assert not cells.store_trial(10**12, "w1", good(0, H2))


def test_one_of_many_claims_wins(campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
    for cell in cell_ids(campaigns, campaigns.create(plan(endpoints=4, profiles=2))):
        gate = threading.Barrier(6)

        def attempt(worker: str, cell: int = cell, gate: threading.Barrier = gate) -> bool:
            gate.wait()
            return cells.claim(cell, worker, 60) is not None

        with ThreadPoolExecutor(6) as pool:
            wins = list(pool.map(attempt, [f"w{number}" for number in range(6)]))
        assert wins.count(True) == 1


def test_trial_is_stored_once_with_everything(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    campaign_id = campaigns.create(plan(endpoints=1))
    (cell,) = cell_ids(campaigns, campaign_id)
    cells.claim(cell, "w1", 60)
    cells.store_proof(cell, "w1", proof())
    first = good(1, H3, 0.25, "The hypervisor took 9.0% of the CPUs' time.")
    assert cells.store_trial(cell, "w1", first)
    assert cells.store_trial(cell, "w1", good(1, H3, 0.5)), "a doubled trial is dropped, the cell is still ours"
    failed = bad(1, H2)
    assert cells.store_trial(cell, "w1", failed)
    page = results.trials(campaign_id, TrialFilter(), 10, None)
    assert [record.trial for record in page.items] == [first, failed]
    assert [record.build for record in page.items] == [BUILD, BUILD]
    assert [outcome.unproven_reason for outcome in results.outcomes(campaign_id, [H3])] == [first.unproven_reason]
    (cell_record,) = results.cells(campaign_id)
    assert cell_record.proof is not None
    assert cell_record.proof.machine == proof().machine
    progress = campaigns.get(campaign_id).progress
    assert (progress.trials_planned, progress.trials_done, progress.trials_failed) == (6, 2, 1)
    assert progress.busy_s > 0
    assert progress.cells_running == 1
    again = cells.claim(cell, "w1", 60)
    assert again is not None
    assert again.done == {(1, H3), (1, H2)}


def test_many_connections_store_the_same_trial(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    campaign_id = campaigns.create(plan(endpoints=1, rounds=5))
    (cell,) = cell_ids(campaigns, campaign_id)
    cells.claim(cell, "w1", 60)
    trials = [good(number, client) for number in range(6) for client in (H2, H3)] * 4
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda trial: cells.store_trial(cell, "w1", trial), trials))
    assert len(list(results.all_trials(campaign_id))) == 12
    assert campaigns.get(campaign_id).progress.trials_done == 12


def test_hostile_text_is_stored(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    campaign_id = campaigns.create(plan(endpoints=1))
    (cell,) = cell_ids(campaigns, campaign_id)
    cells.claim(cell, "w1", 60)
    assert cells.store_trial(cell, "w1", bad(0, H2, FailureKind.UNKNOWN, "a\x00b \udcff c"))
    (record,) = results.all_trials(campaign_id)
    assert record.trial.observation.failure is not None
    assert record.trial.observation.failure.detail == "a\ufffdb ? c"


def test_cancel_stops_everything(campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
    campaign_id = campaigns.create(plan())
    first, second = cell_ids(campaigns, campaign_id)
    cells.claim(first, "w1", 60)
    assert cells.store_trial(first, "w1", good(0, H2))
    assert campaigns.cancel(campaign_id)
    assert not campaigns.cancel(campaign_id)
    assert not cells.store_trial(first, "w1", good(0, H3))
    assert not cells.extend_lease(first, "w1", 60)
    cells.finish(first, "w1")
    cells.release(first, "w1")
    assert cells.claim(second, "w1", 60) is None
    assert campaigns.dispatchable_cells(10) == []
    campaign = campaigns.get(campaign_id)
    assert campaign.state is CampaignState.CANCELLED
    assert campaign.progress.trials_done == 1


def test_last_cell_finishes_the_campaign(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    campaign_id = campaigns.create(plan())
    first, second = cell_ids(campaigns, campaign_id)
    for cell in (first, second):
        cells.claim(cell, "w1", 60)
    cells.finish(first, "w1")
    assert campaigns.get(campaign_id).state is CampaignState.RUNNING
    cells.finish(second, "w2")
    assert campaigns.get(campaign_id).state is CampaignState.RUNNING, "only the holder finishes"
    cells.finish(second, "w1")
    done = campaigns.get(campaign_id)
    assert done.state is CampaignState.DONE
    assert done.progress.cells_done == 2
    cells.finish(second, "w1")
    assert campaigns.get(campaign_id).finished_at == done.finished_at
    assert cells.claim(first, "w1", 60) is None
    assert not campaigns.cancel(campaign_id)
    assert {cell.state for cell in results.cells(campaign_id)} == {CellState.DONE}


def test_cells_finished_at_once_finish_the_campaign_exactly_once(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    with engine.begin() as connection:  # counts the moments at which a campaign becomes done
        connection.execute(text("CREATE TABLE finishes (campaign uuid)"))
        connection.execute(
            text(
                "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
                "$$BEGIN INSERT INTO finishes VALUES (new.id); RETURN new; END$$"
            )
        )
        connection.execute(
            text(
                "CREATE TRIGGER note AFTER UPDATE ON campaigns FOR EACH ROW "
                "WHEN (new.state = 'done') EXECUTE FUNCTION note()"
            )
        )
    idents = [campaigns.create(plan(endpoints=4)) for _ in range(10)]
    for ident in idents:
        numbers = cell_ids(campaigns, ident)
        for cell in numbers:
            cells.claim(cell, f"w{cell}", 60)
        gate = threading.Barrier(len(numbers))

        def finish(cell: int, gate: threading.Barrier = gate) -> None:
            gate.wait()
            cells.finish(cell, f"w{cell}")

        with ThreadPoolExecutor(len(numbers)) as pool:
            list(pool.map(finish, numbers))
    with engine.begin() as connection:
        finishes = [str(value) for value in connection.execute(text("SELECT campaign FROM finishes")).scalars()]
    assert sorted(finishes) == sorted(idents)


def test_cancel_finish_claim_and_store_at_once_never_deadlock(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    for turn in range(10):
        campaign_id = campaigns.create(plan(endpoints=4))
        numbers = cell_ids(campaigns, campaign_id)
        gate = threading.Barrier(len(numbers) + 1)

        def work(cell: int, gate: threading.Barrier = gate) -> None:
            gate.wait()
            if cells.claim(cell, "w", 60):
                cells.store_proof(cell, "w", proof())
                for number in range(3):
                    cells.store_trial(cell, "w", good(number, H2))
                cells.finish(cell, "w")

        def stop(gate: threading.Barrier = gate, ident: str = campaign_id) -> None:
            gate.wait()
            campaigns.cancel(ident)

        with ThreadPoolExecutor(len(numbers) + 1) as pool:
            tasks = [pool.submit(work, cell) for cell in numbers] + [pool.submit(stop)]
            for task in tasks:
                task.result(timeout=80)
        assert campaigns.get(campaign_id).state.is_over, turn


def test_dispatchable_cells(engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
    campaign_id = campaigns.create(plan(endpoints=3))
    first, second, third = cell_ids(campaigns, campaign_id)
    cells.claim(first, "w1", 60)
    cells.claim(second, "w1", 60)
    cells.finish(second, "w1")
    assert [cell.cell_id for cell in campaigns.dispatchable_cells(10)] == [third]
    expire(engine, first)
    assert [cell.cell_id for cell in campaigns.dispatchable_cells(10)] == [first, third]
    assert [cell.queue for cell in campaigns.dispatchable_cells(1)] == ["vantage.local"]


def test_lost_database_is_said(campaigns: PostgresCampaignStore) -> None:
    lost = PostgresCellStore(make_engine("postgresql+psycopg://postgres@/x?host=/nowhere"))
    with pytest.raises(StoreUnavailable):
        lost.claim(1, "w1", 60)


def test_database_without_tables_is_said(embedded_postgres_url: str) -> None:
    engine = make_engine(embedded_postgres_url)
    with pytest.raises(StoreUnavailable, match="migrations upgrade"):
        PostgresCellStore(engine).claim(1, "w1", 60)
    engine.dispose()

"""A database clock that was set back by hours: what was written before lies ahead now, and holds nothing up."""

from __future__ import annotations

from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.domain.courtesy import CourtesyBudget
from tests.integration.samples import H2, good, plan
from tests.integration.store.test_courtesy import TIGHT, production

SET_BACK = text(
    "UPDATE cells SET lease_until = lease_until + interval '2 hours', progress_at = progress_at + interval '2 hours'"
)


def open_cells(campaigns: PostgresCampaignStore, ident: str) -> list[int]:
    return [cell.cell_id for cell in campaigns.dispatchable_cells(10, ident)]


def set_back(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(SET_BACK)


def test_a_dead_workers_cell_does_not_wait_for_the_clock_to_come_there_again(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = campaigns.create(plan(endpoints=1))
    (cell,) = open_cells(campaigns, ident)
    assert cells.claim(cell, "dead", 20)
    assert open_cells(campaigns, ident) == []
    set_back(engine)
    assert open_cells(campaigns, ident) == [cell]
    assert cells.claim(cell, "other", 20)
    assert not cells.store_trial(cell, "dead", good(0, H2))


def test_a_living_worker_keeps_its_cell_by_renewing(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = campaigns.create(plan(endpoints=1))
    (cell,) = open_cells(campaigns, ident)
    assert cells.claim(cell, "w", 20)
    set_back(engine)
    assert cells.extend_lease(cell, "w", 20)
    assert open_cells(campaigns, ident) == []
    assert cells.claim(cell, "other", 20) is None


def test_no_time_that_never_passed_is_counted(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = campaigns.create(plan(endpoints=1))
    (cell,) = open_cells(campaigns, ident)
    assert cells.claim(cell, "w", 20)
    set_back(engine)
    assert cells.store_trial(cell, "w", good(0, H2))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT busy_s FROM cells WHERE id = :cell"), {"cell": cell}).scalar_one() == 0


def test_the_pause_between_fetches_is_never_longer_than_it_is(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    budget = CourtesyBudget(100, 10**9, TIGHT.min_gap_s)
    store = PostgresCellStore(engine, budget)
    ident = campaigns.create(production(endpoints=1))
    (cell,) = open_cells(campaigns, ident)
    assert store.claim(cell, "w", 20)
    assert store.reserve_request(cell, "w").granted
    assert store.store_trial(cell, "w", good(0, H2))
    with engine.begin() as connection:
        connection.execute(text("UPDATE hosts SET last_at = last_at + interval '2 hours'"))
    assert 0 < store.reserve_request(cell, "w").wait_s <= budget.min_gap_s

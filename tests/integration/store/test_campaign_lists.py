"""Lists of campaigns keep what was counted of those that are over, and never show what was."""

from __future__ import annotations

from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.engine import read, single_statement
from lastbyte.domain.campaign import CampaignState
from lastbyte.ports import CampaignFilter, CampaignRecord
from tests.integration.samples import H2, good, plan

EVERY = CampaignFilter()


def shown(campaigns: PostgresCampaignStore) -> tuple[CampaignRecord, ...]:
    return campaigns.page(EVERY, 10, None).items


def test_what_is_over_stays_the_same_record_until_it_is_changed(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = campaigns.create(plan(endpoints=1))
    cell = campaigns.dispatchable_cells(10, ident)[0].cell_id
    assert shown(campaigns)[0].progress.trials_done == 0
    cells.claim(cell, "w", 60)
    cells.store_trial(cell, "w", good(0, H2))
    assert shown(campaigns)[0].progress.trials_done == 1, "one that runs is counted each time"
    PostgresCampaignStore(engine).cancel(ident)
    (over,) = shown(campaigns)
    assert (over.state, over.progress.trials_done) == (CampaignState.CANCELLED, 1)
    assert shown(campaigns)[0] is over
    PostgresCampaignStore(engine).edit(ident, "another name", ["nightly"])  # as another process would
    (changed,) = shown(campaigns)
    assert (changed.spec.name, changed.labels, changed.progress) == ("another name", ("nightly",), over.progress)
    PostgresCampaignStore(engine).delete(ident)
    assert campaigns.page(EVERY, 10, None) == campaigns.page(CampaignFilter(name="x"), 10, None)


def test_signs_of_patterns_are_looked_for_as_they_are(campaigns: PostgresCampaignStore) -> None:
    ident = campaigns.create(plan(endpoints=1))
    campaigns.edit(ident, "50%_off/ON", None)
    for part, found in {"%_OFF": 1, "50": 1, "/on": 1, "5_%": 0, "%%": 0}.items():
        assert campaigns.page(CampaignFilter(name=part), 10, None).total == found, part


def test_connections_that_died_while_idle_are_replaced(engine: Engine) -> None:
    """As after a restart of the server: no request fails."""
    (own,) = read(engine, "SELECT pg_backend_pid() AS pid", {})
    with engine.connect() as first, engine.connect() as second:
        pids = [connection.execute(text("SELECT pg_backend_pid()")).scalar_one() for connection in (first, second)]
        assert own.pid in pids
        (other,) = set(pids) - {own.pid}
    with single_statement(engine) as connection:
        here = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        (gone,) = {own.pid, other} - {here}
        connection.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": gone})
        (row,) = read(engine, "SELECT pg_backend_pid() AS pid", {})
        assert row.pid not in (gone, here)

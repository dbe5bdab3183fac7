from __future__ import annotations

from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.ports import InstalledClient, Vantage
from tests.integration.samples import BUILD, CLIENTS, ENDPOINTS, PROFILES, plan, proof


def test_sync_lists_what_is_there_in_its_order(catalogue: PostgresCatalogue) -> None:
    assert catalogue.endpoints() == ENDPOINTS
    assert catalogue.profiles() == PROFILES
    assert catalogue.clients() == CLIENTS
    catalogue.sync(ENDPOINTS[::-1], PROFILES[1:], [])
    assert catalogue.endpoints() == ENDPOINTS[::-1]
    assert catalogue.profiles() == PROFILES[1:]
    assert catalogue.clients() == []
    catalogue.sync(ENDPOINTS, PROFILES, CLIENTS)
    assert catalogue.clients() == CLIENTS


def test_what_left_the_catalogue_stays_for_its_campaigns(
    catalogue: PostgresCatalogue, campaigns: PostgresCampaignStore
) -> None:
    ident = campaigns.create(plan())
    catalogue.sync([], [], [])
    assert campaigns.get(ident).spec == plan().spec


def test_builds_are_told_apart_and_kept_once(
    catalogue: PostgresCatalogue, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    (first, second) = campaigns.dispatchable_cells(10, campaigns.create(plan()))
    for cell in (first, second, first):
        cells.claim(cell.cell_id, "w", 60)
        cells.store_proof(cell.cell_id, "w", proof())
    assert [seen.build for seen in catalogue.builds()] == [BUILD]


def test_vantage_is_alive_while_it_says_so(engine: Engine) -> None:
    store = PostgresVantageStore(engine)
    here = Vantage("local", "uml", "host", "6.1", (InstalledClient("curl-quiche-h3", "curl 8.22.0", "ab"),), "no path")
    store.heartbeat(Vantage("local", "kernel", "old", "5.0"))
    store.heartbeat(here)
    (seen,) = store.vantages()
    assert seen.vantage == here
    assert seen.alive
    with engine.begin() as connection:
        connection.execute(text("UPDATE vantages SET last_seen_at = now() - interval '61 s'"))
    (seen,) = store.vantages()
    assert not seen.alive

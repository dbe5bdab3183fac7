from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.ports import InstalledClient, Vantage, Worker
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
        connection.execute(text("UPDATE vantages SET last_seen_at = now() - interval '31 s'"))
    (seen,) = store.vantages()
    assert not seen.alive


def test_a_worker_that_goes_silent_is_shown_as_dead_and_one_that_leaves_is_gone(engine: Engine) -> None:
    store = PostgresVantageStore(engine)
    place = Vantage("local", "uml", "host", "6.1")
    old, new = Worker("host:1:a", "0.1.0", "host", 1), Worker("host:2:b", "0.2.0", "host", 2, cell_id=7)
    store.heartbeat(place, old)
    store.heartbeat(place, new)
    store.heartbeat(place, replace(new, cell_id=None, trouble="no path"))
    (seen,) = store.vantages()
    assert [item.worker for item in seen.workers] == [old, replace(new, cell_id=None, trouble="no path")]
    assert all(item.alive for item in seen.workers)
    with engine.begin() as connection:
        connection.execute(text("UPDATE workers SET last_seen_at = now() - interval '31 s' WHERE pid = 1"))
    (seen,) = store.vantages()
    assert [item.alive for item in seen.workers] == [False, True]
    store.leave(new.id)
    (seen,) = store.vantages()
    assert [item.worker for item in seen.workers] == [old]


def test_what_a_later_version_says_more_is_passed_over(engine: Engine) -> None:
    store = PostgresVantageStore(engine)
    store.heartbeat(Vantage("local", "uml", "host", "6.1", (InstalledClient("a", "curl 8.22.0", "ab"),)))
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE vantages SET capabilities = jsonb_set(capabilities, '{clients,0,taste}', '\"sour\"')"
                " || '{\"mood\": 1}'"
            )
        )
    (seen,) = store.vantages()
    assert seen.vantage.clients == (InstalledClient("a", "curl 8.22.0", "ab"),)

"""A measured campaign in one database, and an empty second database to take it to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.embedded.postgres import Postgres
from tests.integration.database import database_url, engine, migrated_database, migrated_template
from tests.integration.samples import CLIENTS, ENDPOINTS, H2, H3, PROFILES, bad, good, plan, proof

__all__ = ["database_url", "engine", "migrated_template"]

ROUNDS = 7


@pytest.fixture
def measured(engine: Engine) -> str:
    """Id of a campaign of two endpoints and two profiles, with failures and times of many digits."""
    PostgresCatalogue(engine).sync(ENDPOINTS, PROFILES, CLIENTS)
    campaigns, cells = PostgresCampaignStore(engine), PostgresCellStore(engine)
    campaign_id = campaigns.create(plan(profiles=2, rounds=ROUNDS, name="to take along"))
    for number, cell in enumerate(campaigns.dispatchable_cells(100, campaign_id)):
        claimed = cells.claim(cell.cell_id, "worker", 60)
        assert claimed is not None
        cells.store_proof(cell.cell_id, "worker", proof(claimed.endpoint.base_rtt_ms, 10 / 3 * (number + 3)))
        for round_index in range(ROUNDS + 1):
            ttlb_s = 0.1 + round_index / 7e3 + number / 3
            cells.store_trial(cell.cell_id, "worker", good(round_index, H2, ttlb_s))
            broken = number == 1 and round_index == 2
            cells.store_trial(
                cell.cell_id, "worker", bad(round_index, H3) if broken else good(round_index, H3, ttlb_s * 0.9)
            )
        cells.finish(cell.cell_id, "worker")
    return campaign_id


@pytest.fixture
def elsewhere(embedded_postgres: Postgres, migrated_template: str) -> Iterator[Engine]:
    """An empty database of another lastbyte."""
    with migrated_database(embedded_postgres, migrated_template) as url:
        other = make_engine(url, "lastbyte tests")
        yield other
        other.dispose()

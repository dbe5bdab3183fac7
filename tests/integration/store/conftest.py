from __future__ import annotations

import pytest
from sqlalchemy import Engine

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from tests.integration.database import database_url, engine, migrated_template
from tests.integration.samples import CLIENTS, ENDPOINTS, PROFILES

__all__ = ["database_url", "engine", "migrated_template"]


@pytest.fixture
def catalogue(engine: Engine) -> PostgresCatalogue:
    catalogue = PostgresCatalogue(engine)
    catalogue.sync(ENDPOINTS, PROFILES, CLIENTS)
    return catalogue


@pytest.fixture
def campaigns(engine: Engine, catalogue: PostgresCatalogue) -> PostgresCampaignStore:
    return PostgresCampaignStore(engine)


@pytest.fixture
def cells(engine: Engine) -> PostgresCellStore:
    return PostgresCellStore(engine)


@pytest.fixture
def results(engine: Engine) -> PostgresResultStore:
    return PostgresResultStore(engine)

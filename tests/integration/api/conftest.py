"""The API on a real port of the loopback, with a real PostgreSQL and Valkey behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy import Engine, text

from api.app import create_app
from api.container import CatalogueState, Container
from api.wiring import wire
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.settings import Settings
from tests.integration.database import database_url, engine, migrated_template
from tests.integration.samples import CLIENTS, ENDPOINTS, PROFILES

__all__ = ["database_url", "engine", "migrated_template"]


def wire_samples(settings: Settings) -> Container:
    """The real wiring with the samples for a catalogue."""
    container = wire(settings)
    return replace(container, sync_catalogue=lambda: container.catalogue.sync(ENDPOINTS, PROFILES, CLIENTS))


@contextmanager
def serving(settings: Settings, app_of: Callable[[Settings], FastAPI] | None = None) -> Iterator[str]:
    """Base URL of the API while it serves in a thread of this process."""
    app = app_of(settings) if app_of else create_app(settings, wire_samples)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started or app.state.catalogue is CatalogueState.PENDING:
        assert thread.is_alive(), "the API did not start"
        assert time.monotonic() < deadline, "the API did not start in time"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=80)


@pytest.fixture
def base_url(database_url: str, embedded_valkey_url: str) -> Iterator[str]:
    with serving(Settings(database_url=database_url, broker_url=embedded_valkey_url)) as url:
        yield url


@pytest.fixture
def api(base_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{base_url}/api/v1", timeout=30) as client:
        yield client


@pytest.fixture
def campaigns(engine: Engine) -> PostgresCampaignStore:
    return PostgresCampaignStore(engine)


@pytest.fixture
def cells(engine: Engine) -> PostgresCellStore:
    return PostgresCellStore(engine)


def stored_campaigns(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM campaigns")).scalar_one())

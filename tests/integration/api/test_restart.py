"""PostgreSQL and Valkey stopped and started again under a running API."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import httpx

from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.running import running_postgres, running_valkey
from lastbyte.embedded.valkey import Valkey
from lastbyte.settings import Settings
from migrations import run
from tests.integration.api.conftest import serving
from tests.integration.api.test_campaigns import BODY


def eventually(probe: Callable[[], bool], within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while not probe():
        assert time.monotonic() < deadline, "it did not come back"
        time.sleep(0.1)


def test_the_api_goes_on_when_its_services_come_back(tmp_path: Path) -> None:
    postgres, valkey = Postgres.under(tmp_path), Valkey.under(tmp_path)
    log = tmp_path / "log"
    settings = Settings(database_url=postgres.url("lastbyte"), broker_url=valkey.url())
    with serving(settings) as url, httpx.Client(base_url=f"{url}/api/v1", timeout=30) as api:
        assert api.get("/campaigns").status_code == 503, "nothing is there yet"
        with running_valkey(valkey, log), running_postgres(postgres, log):
            postgres.ensure_database("lastbyte")
            time.sleep(2.5)  # the API tries meanwhile and finds no tables
            assert "migrations" in api.get("/campaigns").json()["detail"]
            run.upgrade(postgres.url("lastbyte"))
            eventually(lambda: api.get("/endpoints").json().get("total", 0) > 0)
            assert api.get("/readyz").status_code == 200
            first = api.post("/campaigns", json=BODY)
            assert first.status_code == 201
        lost = api.post("/campaigns", json=BODY)
        assert lost.status_code == 503
        assert lost.headers["content-type"] == "application/problem+json"
        assert "database" in api.get("/readyz").json()["detail"]
        with running_valkey(valkey, log), running_postgres(postgres, log):
            assert api.get("/campaigns").json()["total"] == 1, "at the very first request, and only what was accepted"
            assert api.get("/readyz").status_code == 200

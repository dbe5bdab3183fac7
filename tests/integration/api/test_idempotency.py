"""Creates with a key whose process or database dies before the caller has the answer, and which are then repeated."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest
from sqlalchemy import text

import lastbyte.adapters.postgres.idempotency as seam
from lastbyte.adapters.postgres.engine import SharedTransaction
from tests.integration.api.test_campaigns import BODY
from tests.integration.api.test_editing import ENDPOINT
from tests.integration.api.test_schedules import BODY as SCHEDULE

KEY = {"Idempotency-Key": "once"}
CREATES: dict[str, dict[str, Any]] = {
    "campaigns": BODY,
    "schedules": SCHEDULE,
    "endpoints": ENDPOINT,
    "profiles": {"name": "office", "both": {"delay_ms": 10}},
    "annotations": {"at": "2026-01-31T03:15:00Z", "text": "a new router"},
}


def settled(api: httpx.Client, what: str, body: dict[str, Any]) -> httpx.Response:
    """The answer, once PostgreSQL has noticed that the first caller's process is gone."""
    deadline = time.monotonic() + 60
    while True:
        answer = api.post(f"/{what}", json=body, headers=KEY)
        if answer.status_code != 409 or time.monotonic() > deadline:
            return answer
        time.sleep(0.1)


@pytest.mark.parametrize(("moment", "stored"), [("before", 0), ("after", 1)])
def test_a_killed_create_is_done_once(
    api: httpx.Client, database_url: str, embedded_valkey_url: str, moment: str, stored: int
) -> None:
    """Killed before the commit nothing is stored, neither campaign nor key; killed after it both are."""
    environment = {"LASTBYTE_DATABASE_URL": database_url, "LASTBYTE_BROKER_URL": embedded_valkey_url}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        argv = [sys.executable, "-m", "tests.integration.api.dying_api", str(listening.fileno()), moment]
        dying = subprocess.Popen(argv, env={**os.environ, **environment}, pass_fds=[listening.fileno()])
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/api/v1/campaigns"
    with pytest.raises(httpx.TransportError):
        httpx.post(url, json=BODY, headers=KEY, timeout=120)
    assert dying.wait(60) == -9
    assert api.get("/campaigns").json()["total"] == stored
    again = settled(api, "campaigns", BODY)
    assert again.status_code == 201
    assert ("idempotency-replayed" in again.headers) == bool(stored)
    (campaign,) = api.get("/campaigns").json()["items"]
    assert campaign["id"] == again.json()["id"]


@pytest.mark.parametrize("what", CREATES)
def test_a_create_whose_answer_is_not_stored_is_undone(
    api: httpx.Client, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """PostgreSQL loses the connection at the last moment before the commit."""

    class Cut(SharedTransaction):
        def commit(self) -> None:
            assert self.connection is not None
            own = self.connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            with self.engine.connect() as other:
                other.execute(text("SELECT pg_terminate_backend(:own, 10000)"), {"own": own})
            super().commit()

    def total() -> int:
        return int(api.get(f"/{what}").json()["total"])

    before = total()
    with monkeypatch.context() as patched:
        patched.setattr(seam, "SharedTransaction", Cut)
        lost = api.post(f"/{what}", json=CREATES[what], headers=KEY)
    assert (lost.status_code, lost.headers["content-type"]) == (503, "application/problem+json")
    assert total() == before
    first = settled(api, what, CREATES[what])
    assert (first.status_code, "idempotency-replayed" in first.headers) == (201, False)
    again = api.post(f"/{what}", json=CREATES[what], headers=KEY)
    assert (again.status_code, again.json(), again.headers["idempotency-replayed"]) == (201, first.json(), "true")
    assert total() == before + 1


def test_what_is_refused_leaves_nothing_behind(api: httpx.Client) -> None:
    """The second statement of a create fails: the first one is taken back, and the key is free."""
    assert api.post("/schedules", json=SCHEDULE).status_code == 201
    taken = api.post("/schedules", json=SCHEDULE, headers=KEY)
    assert (taken.status_code, "named" in taken.json()["detail"]) == (409, True)
    other = api.post("/schedules", json={**SCHEDULE, "name": "another"}, headers=KEY)
    assert other.status_code == 201

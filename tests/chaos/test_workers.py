"""Workers that crash, hang, vanish and are of another version, each of them real, in one running system.

Two client programs bring them down: one kills the process that measures, the other stops it dead, once. Leases and
limits are short here; test_crashes.py has a worker's death with the ones that people have.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from celery import Celery

from lastbyte.adapters.celery_queue import MEASURE_TASK
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.valkey import Valkey
from lastbyte.ports import queue_of
from tests.stack import Stack

DESCRIPTION = """
program = "{name}"
title = "{name}"
executable = ["{folder}/{name}"]
argv = ["{{url}}"]
[protocols.h2]
[timings]
parser = "wall"
"""
POISON = """#!/bin/sh
[ "$1" = --version ] || kill -9 "$PPID"
"""
HANG = """#!/bin/sh
[ "$1" = --version ] && exit
mkdir "$(dirname "$0")/hung" 2> /dev/null || exit 0
kill -STOP "$PPID"
sleep 600
"""
SHORT = {"LEASE_S": "2", "CELL_LIMIT_S": "10", "TRIAL_TIMEOUT_S": "5", "CELL_GRACE_S": "5"}
pytestmark = pytest.mark.timeout(900)  # two starts of a system, and three crashes in a row, on a busy machine
OLDER = "0.0.1"
SHOWN_DEAD_WITHIN_S = 60


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("clients")
    for name, script in (("poison", POISON), ("hang", HANG)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
        (folder / f"{name}.toml").write_text(DESCRIPTION.format(name=name, folder=folder))
    wanted = {"LASTBYTE_CLIENTS_DIR": str(folder), **{f"LASTBYTE_{name}": value for name, value in SHORT.items()}}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in wanted.items():
            patch.setenv(name, value)
        with Stack("--no-demo") as running:
            yield running


def urls(stack: Stack) -> dict[str, str]:
    return {
        "LASTBYTE_DATABASE_URL": Postgres.under(stack.var).url(),
        "LASTBYTE_BROKER_URL": Valkey.under(stack.var).url(),
    }


@contextmanager
def older_worker(stack: Stack, folder: Path) -> Iterator[Path]:
    """A second worker of the same vantage that says it is of an older version; its log."""
    told = folder / f"lastbyte-{OLDER}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: lastbyte\nVersion: {OLDER}\n")
    (folder / "log").mkdir()
    environment = {**os.environ, **urls(stack), "LASTBYTE_VAR": str(folder), "PYTHONPATH": str(folder)}
    file = folder / "log" / "worker.log"
    with file.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "worker"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
    try:
        yield file
    finally:
        process.kill()
        process.wait()


def workers(stack: Stack) -> dict[str, Any]:
    """Of each version the worker that was seen last."""
    seen = [worker for vantage in stack.http.get("/vantages").json()["items"] for worker in vantage["workers"]]
    return {worker["version"]: worker for worker in sorted(seen, key=lambda worker: worker["last_seen_at"])}


def campaign(stack: Stack, client: str) -> str:
    body = {"endpoints": ["testbed-caddy-100KB"], "profiles": ["unshaped"], "clients": [client], "rounds": 1}
    return str(stack.post(name=client, **body)["id"])


@pytest.fixture(scope="module")
def vanished(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> float:
    """When the older worker was killed, after both had been seen side by side."""
    with older_worker(stack, tmp_path_factory.mktemp("older")) as log:
        stack.until(lambda: len(workers(stack)) == 2, "both workers", 180)
        seen = workers(stack)
        assert seen[OLDER]["alive"]
        assert all(worker["alive"] for worker in seen.values())
        assert knocks_are_understood(stack, log)
    return time.monotonic()


def knocks_are_understood(stack: Stack, log: Path) -> bool:
    """A knock with what a later version might add, twice, so that each worker may get one; and a task of tomorrow."""
    app = Celery("tomorrow", broker=urls(stack)["LASTBYTE_BROKER_URL"], set_as_current=False)
    queue = queue_of("local")
    with app.connection_for_write() as broker:
        app.send_task("worker.of_tomorrow", args=[1], queue=queue, connection=broker)
        sent = [
            app.send_task(
                MEASURE_TASK, args=[10**9], kwargs={"hint": {"why": "new"}}, queue=queue, connection=broker
            ).id
            for _ in range(2)
        ]
        sent.append(app.send_task(MEASURE_TASK, kwargs={"cell_id": 10**9}, queue=queue, connection=broker).id)
    logs = (stack.var / "log" / "worker.log", log)

    def done() -> bool:
        said = "".join(log.read_text(errors="replace") for log in logs)
        return all(f"[{task}] succeeded" in said for task in sent)

    return stack.until(done, "knocks of other versions to be understood", 120)


def test_workers_of_two_versions_work_side_by_side(stack: Stack, vanished: float) -> None:
    assert vanished
    ident = stack.post(
        name="after the upgrade",
        endpoints=["testbed-caddy-100KB"],
        profiles=["unshaped"],
        clients=["curl-quiche"],
        rounds=1,
    )["id"]
    assert stack.wait_done(ident, 300)["trials_done"] == 4


@pytest.mark.usefixtures("vanished")
def test_a_cell_over_which_workers_crash_is_given_up_with_its_reason(stack: Stack) -> None:
    ident = campaign(stack, "poison")
    ended = stack.wait_done(ident, 300)
    assert (ended["state"], ended["cells_given_up"], ended["trials_done"]) == ("done", 1, 0)
    (cell,) = stack.http.get(f"/campaigns/{ident}/cells").json()["items"]
    assert cell["state"] == "quarantined"
    assert cell["given_up"].startswith(
        "Given up after 3 crashes with no trial stored in between; the last one: worker "
    )


@pytest.mark.usefixtures("vanished")
def test_a_measurement_that_hangs_is_killed_noted_and_done_anew(stack: Stack) -> None:
    ident = campaign(stack, "hang")
    ended = stack.wait_done(ident, 300)
    assert (ended["state"], ended["cells_given_up"]) == ("done", 0)
    assert [trial["outcome"] for trial in stack.trials(ident)] == ["ok", "ok"]
    said = (stack.var / "log" / "worker.log").read_text(errors="replace")
    assert "Hard time limit (20.0s) exceeded for worker.measure_cell" in said
    url = urls(stack)["LASTBYTE_DATABASE_URL"].replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT crash_reason FROM cells WHERE campaign_id = %s", [ident]).fetchone()
    assert row is not None
    assert "went away while measuring it" in row[0]


def test_a_dead_worker_is_shown_dead_within_a_minute(stack: Stack, vanished: float) -> None:
    left_s = SHOWN_DEAD_WITHIN_S - (time.monotonic() - vanished)
    with suppress(KeyError):  # listed no more is dead too
        stack.until(lambda: not workers(stack)[OLDER]["alive"], "the killed worker to be shown dead", max(left_s, 5))
    others = [worker["alive"] for version, worker in workers(stack).items() if version != OLDER]
    assert others == [True]

"""kill -9 at any part while a campaign runs: it goes on by itself, and every planned trial is stored once."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.stack import Stack

CAMPAIGN = {
    "endpoints": ["testbed-caddy-100KB", "testbed-nginx-100KB"],
    "profiles": ["baseline", "loss-1"],
    "clients": ["curl-quiche"],
    "rounds": 12,
}

TAKEN_OVER_WITHIN_S = 45
"""A lease of 20 s, the dispatcher's 2 s, and a path to be made, on a busy machine."""


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with Stack("--no-demo") as running:
        yield running


def descendants(stack: Stack) -> list[psutil.Process]:
    assert stack.process is not None
    return psutil.Process(stack.process.pid).children(recursive=True)


def find(stack: Stack, *words: str) -> list[psutil.Process]:
    """Processes of the system whose command line holds all ``words``."""
    found = []
    for process in descendants(stack):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if all(word in line for word in words):
            found.append(process)
    return found


def kill(processes: list[psutil.Process]) -> None:
    """Kill -9; one that dies with another before its turn is dead too."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def workers(stack: Stack) -> set[str]:
    """Ids of the workers that live, as far as their heartbeats tell."""
    vantages = stack.http.get("/vantages").json()["items"]
    return {worker["id"] for vantage in vantages for worker in vantage["workers"] if worker["alive"]}


def under_way(stack: Stack, ident: str, trials: int = 10) -> None:
    """Wait until the campaign has measured something."""

    def begun() -> bool:
        return bool(stack.campaign(ident)["trials_done"] >= trials)

    stack.until(begun, f"{trials} trials", 180)


def assert_complete(stack: Stack, ident: str) -> None:
    ended = stack.wait_done(ident, 180)
    trials = stack.trials(ident)
    keys = {(t["cell_id"], t["round"], t["client"]) for t in trials}
    assert ended["state"] == "done"
    assert len(trials) == len(keys) == ended["trials_planned"] == ended["trials_done"] == 2 * 2 * 2 * 13


def test_a_killed_worker_costs_at_most_the_trial_under_way(stack: Stack) -> None:
    ident = stack.post(name="worker killed", **CAMPAIGN)["id"]
    under_way(stack, ident)
    before = workers(stack)
    kill([process for process in find(stack, "-m worker") if "worker.beat" not in " ".join(process.cmdline())])
    done = stack.campaign(ident)["trials_done"]
    stack.until(lambda: workers(stack) - before, "another worker", 300)
    stack.until(lambda: stack.campaign(ident)["trials_done"] > done, "its cell to be measured on", TAKEN_OVER_WITHIN_S)
    assert_complete(stack, ident)


def test_postgresql_may_be_killed_while_measuring(stack: Stack) -> None:
    ident = stack.post(name="postgresql killed", **CAMPAIGN)["id"]
    under_way(stack, ident)
    servers = [process for process in descendants(stack) if process.name() == "postgres"]
    kill([min(servers, key=lambda process: process.create_time())])
    assert_complete(stack, ident)


def test_valkey_may_be_killed_while_measuring(stack: Stack) -> None:
    ident = stack.post(name="valkey killed", **CAMPAIGN)["id"]
    under_way(stack, ident)
    kill(find(stack, "valkey-server"))
    assert_complete(stack, ident)


def test_the_box_may_be_killed_while_measuring(stack: Stack) -> None:
    ident = stack.post(name="box killed", **CAMPAIGN)["id"]
    under_way(stack, ident)
    guests = find(stack, "linux.uml")
    if not guests:
        pytest.skip("this kernel has netem: the box is no process that could be killed")
    kill(guests)
    assert_complete(stack, ident)
    kinds = {t["outcome"] for t in stack.trials(ident)} - {"ok"}
    assert kinds <= {"path-lost"}, "the death of the link was blamed on the endpoint"


def test_the_testbed_may_be_killed_while_measuring(stack: Stack) -> None:
    ident = stack.post(name="testbed killed", **CAMPAIGN)["id"]
    under_way(stack, ident)
    kill(find(stack, "-m testbed"))
    assert_complete(stack, ident)
    late = [t for t in stack.trials(ident) if t["round"] >= 10 and t["endpoint"] == "testbed-nginx-100KB"]
    assert late
    assert {t["outcome"] for t in late} == {"ok"}, "the path never found the testbed that came back"


def test_cancelling_stops_measuring_and_keeps_what_there_is(stack: Stack) -> None:
    ident = stack.post(name="cancelled", **CAMPAIGN)["id"]
    under_way(stack, ident, 5)
    answer = stack.http.post(f"/campaigns/{ident}/cancel")
    assert answer.status_code == 200
    assert answer.json()["state"] == "cancelled"
    time.sleep(3)
    stored = len(stack.trials(ident))
    time.sleep(2)
    assert 5 <= len(stack.trials(ident)) == stored < 104
    again = stack.http.post(f"/campaigns/{ident}/cancel")
    assert again.status_code == 409


def test_kill_9_of_everything_at_once_leaves_nothing_and_the_next_start_goes_on(tmp_path: Path) -> None:
    with Stack("--no-demo") as running:
        ident = running.post(name="power cut", **CAMPAIGN)["id"]
        under_way(running, ident)
        before = descendants(running)
        running.kill()
        psutil.wait_procs(before, timeout=60)
        left = [p for p in before if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        assert left == [], "processes outlived their supervisor"
        assert _named_namespaces() == ""
        with pytest.raises(httpx.HTTPError):
            httpx.get(running.api_url)
        running.start()
        assert_complete(running, ident)


def _named_namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout

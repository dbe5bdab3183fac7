"""Faults of every part in a seeded random order while a campaign runs; ``make chaos`` is the long form.

LASTBYTE_CHAOS_FAULTS is how many (default: each of a few that test_crashes.py does not have, once), LASTBYTE_CHAOS_SEED
the order. The clock is not stepped here: a machine has only one, and leases go by the database's.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial

import httpx
import psutil
import pytest

from tests.chaos.test_crashes import descendants, find, kill
from tests.stack import Stack

LONG = int(os.environ.get("LASTBYTE_CHAOS_FAULTS", "0"))
SEED = int(os.environ.get("LASTBYTE_CHAOS_SEED") or random.SystemRandom().randrange(2**32))
ENDPOINTS = ["testbed-caddy-100KB", "testbed-nginx-100KB"]
HONEST = {"ok", "path-lost", "client-crash"}
"""What a trial may have come to: nothing else was done to it."""


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    os.environ["LASTBYTE_CELL_LIMIT_S"] = "6"  # cells are handed back in mid-measurement too
    try:
        with Stack("--no-demo") as running:
            yield running
    finally:
        del os.environ["LASTBYTE_CELL_LIMIT_S"]


def worker(stack: Stack) -> None:
    kill([process for process in find(stack, "-m worker") if "worker.beat" not in " ".join(process.cmdline())])


def measuring_child(stack: Stack) -> None:
    """The process that measures, not its parent, which must make another."""
    parents = {process.pid for process in find(stack, "-m worker")}
    kill([p for p in find(stack, "-m worker") if p.ppid() in parents and "beat" not in " ".join(p.cmdline())])


def box(stack: Stack) -> None:
    kill(find(stack, "linux.uml"))


def running_curl(stack: Stack) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        found = [process for process in descendants(stack) if _name(process) == "curl"]
        if found:
            kill(found)
            return
        time.sleep(0.005)


def beat(stack: Stack) -> None:
    kill(find(stack, "-m worker.beat"))


def api(stack: Stack) -> None:
    kill(find(stack, "uvicorn"))


def postgres(stack: Stack) -> None:
    kill([min((p for p in descendants(stack) if _name(p) == "postgres"), key=lambda p: p.create_time())])


def broker(stack: Stack) -> None:
    kill(find(stack, "valkey-server"))


def broker_with_its_data(stack: Stack) -> None:
    """Everything that was queued is gone; PostgreSQL still knows what is left to do."""
    (server,) = find(stack, "valkey-server")
    server.suspend()
    for file in sorted((stack.var / "valkey").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    kill([server])


def silent_broker(stack: Stack) -> None:
    """What a cut wire looks like from both ends: connected, and no answer."""
    servers = find(stack, "valkey-server")
    for server in servers:
        server.send_signal(signal.SIGSTOP)
    time.sleep(30 if LONG else 5)
    for server in servers:
        server.send_signal(signal.SIGCONT)


NEW: list[Callable[[Stack], None]] = [running_curl, beat, api, broker_with_its_data, silent_broker, measuring_child]
ALL = [*NEW, worker, box, postgres, broker]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def test_whatever_breaks_in_whatever_order_the_campaign_ends_and_is_whole(stack: Stack) -> None:
    draw = random.Random(SEED)  # noqa: S311 - an order to repeat
    faults = [draw.choice(ALL) for _ in range(LONG)] if LONG else draw.sample(NEW, len(NEW))
    print(f"\nLASTBYTE_CHAOS_SEED={SEED}: {', '.join(fault.__name__ for fault in faults)}")
    rounds = min(200, 3 * len(faults))
    ident = stack.post(
        name="random order",
        endpoints=ENDPOINTS,
        profiles=["baseline", "loss-1"],
        clients=["curl-quiche"],
        rounds=rounds,
    )["id"]
    for fault in faults:
        before = _done(stack, ident)
        stack.until(partial(_reached, stack, ident, before + draw.randrange(2, 9)), "more trials", 90)
        if _state(stack, ident) != "running":
            break
        fault(stack)
        time.sleep(draw.uniform(0, 2))
    ended = stack.wait_done(ident, 180 + 30 * len(faults))
    trials = stack.trials(ident)
    keys = {(t["cell_id"], t["round"], t["client"]) for t in trials}
    assert ended["state"] == "done", f"seed {SEED}"
    assert ended["cells_given_up"] == 0, f"seed {SEED}"
    assert len(trials) == len(keys) == ended["trials_planned"] == ended["trials_done"] == 2 * 2 * 2 * (rounds + 1)
    assert {t["outcome"] for t in trials} <= HONEST, f"seed {SEED}: an invented result"
    left = descendants(stack)
    assert sum(_name(process) == "curl" for process in left) == 0
    assert stack.stop() == 0
    psutil.wait_procs(left, timeout=60)
    alive = [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    assert alive == [], f"seed {SEED}: processes outlived the system"
    assert [p for p in (stack.var / "run").glob("*.sock") if p.exists()] == [], "a socket was left"


def _reached(stack: Stack, ident: str, trials: int) -> bool:
    return _done(stack, ident) >= trials


def _done(stack: Stack, ident: str) -> int:
    return int(_ask(stack, ident, "trials_done", 0))


def _state(stack: Stack, ident: str) -> str:
    return str(_ask(stack, ident, "state", "running"))


def _ask(stack: Stack, ident: str, field: str, meanwhile: object) -> object:
    try:
        return stack.campaign(ident)[field]
    except httpx.HTTPError:  # API or database may be away on purpose
        return meanwhile

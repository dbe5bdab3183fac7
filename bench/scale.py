"""Throughput with 1, 2 and 4 workers on short trials; what 1,000 vantages and 1e9 trials need, from measured costs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from bench.vantages import VANTAGES, Costs, costs
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.valkey import Valkey
from tests.stack import Stack

CELLS = {
    "endpoints": ["testbed-caddy-100KB", "testbed-nginx-100KB", "testbed-haproxy-100KB"],
    "profiles": ["unshaped", "baseline", "loss-0.1", "loss-1"],
    "clients": ["curl-quiche"],
    "rounds": 4,
}
WARM = {**CELLS, "profiles": ["unshaped", "baseline"], "rounds": 1}
WORKERS = (1, 2, 4)
TRIALS = 1e9
HEARTBEAT_EVERY_S = 10.0
_START_LIMIT_S = 240.0
_CAMPAIGN_LIMIT_S = 600.0


def run() -> dict[str, Any]:
    """Trials a second of whole campaigns, then the simulation."""
    rates = _measured()
    with tempfile.TemporaryDirectory(prefix="lb-") as name:
        found = costs(Path(name))
    print(found.shown())
    needed = needs(found, rates[1])
    for what, value in needed.items():
        print(f"{what}: {value:,.4g}")
    return {"trials_per_s": rates, "costs": asdict(found), "needs": needed}


def needs(found: Costs, of_one_path: float) -> dict[str, float]:
    """What 1,000 vantages that never rest, and 1e9 trials, ask of what they share. Arithmetic, nothing else.

    ``of_one_path``: trials a second that one path makes.
    """
    trials_per_s = VANTAGES * of_one_path
    beats_per_s = VANTAGES / HEARTBEAT_EVERY_S
    return {
        "trials/s of 1,000 vantages": trials_per_s,
        "cores of PostgreSQL for trials": trials_per_s * found.trial_cpu_ms / 1000,
        "cores of PostgreSQL for heartbeats": beats_per_s * found.heartbeat_cpu_ms / 1000,
        "GB of memory for 2 connections per vantage": 2 * VANTAGES * found.connection_kb / 1e6,
        "MB/s written to tables": trials_per_s * found.trial_bytes / 1e6,
        "TB of 1e9 trials": TRIALS * found.trial_bytes / 1e12,
        "days until 1e9 trials": TRIALS / trials_per_s / 86400,
        "CPU days of PostgreSQL for 1e9 trials": TRIALS * found.trial_cpu_ms / 1000 / 86400,
    }


def _measured() -> dict[int, float]:
    """Trials a second by number of workers, the campaign's start and end included."""
    rates: dict[int, float] = {}
    with Stack("--no-demo") as stack, ExitStack() as more:
        stack.until(partial(_more_than, stack, 0), "the system's own worker", _START_LIMIT_S)
        for wanted in WORKERS:
            while _living(stack) < wanted:
                more.enter_context(_worker(stack))
                stack.until(partial(_more_than, stack, _living(stack)), "another worker", _START_LIMIT_S)
            stack.wait_done(stack.post(name="warm", **WARM)["id"], _CAMPAIGN_LIMIT_S)  # paths are made, boxes boot
            started = time.monotonic()
            ident = stack.post(name=f"{wanted} workers", **CELLS)["id"]
            ended = stack.wait_done(ident, _CAMPAIGN_LIMIT_S)
            rates[wanted] = ended["trials_done"] / (time.monotonic() - started)
            print(
                f"{wanted} workers: {rates[wanted]:.2f} trials/s, {rates[wanted] / rates[1]:.2f} times one", flush=True
            )
    return rates


def _living(stack: Stack) -> int:
    seen = stack.http.get("/vantages").json()["items"]
    return sum(worker["alive"] for here in seen for worker in here["workers"])


def _more_than(stack: Stack, before: int) -> bool:
    return _living(stack) > before


def _worker(stack: Stack) -> subprocess.Popen[bytes]:
    environment = {
        "LASTBYTE_DATABASE_URL": Postgres.under(stack.var).url(),
        "LASTBYTE_BROKER_URL": Valkey.under(stack.var).url(),
        "LASTBYTE_VAR": str(stack.var),
    }
    log = (stack.var / "log" / "more-workers.log").open("ab")
    process = _Worker(
        [sys.executable, "-m", "worker"],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    log.close()
    return process


class _Worker(subprocess.Popen[bytes]):
    """Told to end in peace as its block ends."""

    def __exit__(self, *error: object) -> None:
        self.terminate()
        self.wait(60)

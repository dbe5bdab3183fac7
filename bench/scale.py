"""Throughput with 1, 2 and 4 workers on short trials; what 1,000 vantages and 1e9 trials need, from measured costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from typing import Any

from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.valkey import Valkey
from tests.stack import Stack

CELLS = {
    "endpoints": ["testbed-caddy-100KB", "testbed-nginx-100KB", "testbed-haproxy-100KB"],
    "profiles": ["unshaped", "baseline", "loss-0.1", "loss-1"],
    "clients": ["curl-quiche"],
    "rounds": 8,
}
WORKERS = (1, 2, 4)
_START_LIMIT_S = 60.0


def run() -> dict[str, Any]:
    """Trials a second, the campaign's start and end included."""
    rates: dict[int, float] = {}
    with Stack("--no-demo") as stack, ExitStack() as more:
        for wanted in WORKERS:
            while _living(stack) < wanted:
                more.enter_context(_worker(stack))
                stack.until(partial(_more_than, stack, _living(stack)), "another worker", _START_LIMIT_S)
            started = time.monotonic()
            ident = stack.post(name=f"{wanted} workers", **CELLS)["id"]
            ended = stack.wait_done(ident, 300)
            rates[wanted] = ended["trials_done"] / (time.monotonic() - started)
            print(f"{wanted} workers: {rates[wanted]:.2f} trials/s, {rates[wanted] / rates[1]:.2f} times one")
    return {"trials_per_s": rates}


def _living(stack: Stack) -> int:
    (here,) = stack.http.get("/vantages").json()["items"] or [{"workers": []}]
    return sum(worker["alive"] for worker in here["workers"])


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

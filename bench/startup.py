"""How soon `lastbyte up` has a dashboard that answers, with everything installed."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from tests.stack import Stack

RUNS = 3


def run() -> dict[str, Any]:
    """Seconds from the command to a dashboard and an API that answer; the first start makes the database."""
    times = []
    with TemporaryDirectory(prefix="lb-") as folder:
        for attempt in range(RUNS + 1):
            stack = Stack("--no-demo", var=Path(folder) / "var")
            started = time.perf_counter()
            with stack:
                elapsed_s = time.perf_counter() - started
                page = httpx.get(stack.dashboard_url)
                assert page.status_code == 200
            print(f"{'first start' if attempt == 0 else 'later start'}: {elapsed_s:.1f} s")
            times.append(elapsed_s)
    warm_s = statistics.median(times[1:])
    return {"goals": [{"what": "warm start s", "value": warm_s, "at_most": 8.0}], "seconds": times}

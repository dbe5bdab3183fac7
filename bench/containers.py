"""What containers cost: a trial in a worker container against one without, and how many paths a machine carries.

Needs a container engine (see tests/compose). Both sides run `lastbyte measure`, the same code as a worker's, in turns,
on the same kind of box and the same servers. The origin is one whose congestion control is the same on both sides.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from testbed.run import running_testbed
from tests.compose.system import System, engine_trouble

URL = "https://testbed-haproxy.test/1MB.bin"
CLIENTS = ("curl-quiche-h2", "curl-quiche-h3")
PAIRS = 3
ROUNDS = 6
AA_ROUNDS = 10
PATHS = (1, 2, 4)


def run() -> dict[str, Any]:
    """Ratios of median TTLB, one for each client, and A/A floors for 1, 2 and 4 workers at once."""
    if trouble := engine_trouble():
        print(f"not measured: {trouble}")
        return {"goals": []}
    system = System("lastbyte-bench")
    with TemporaryDirectory(prefix="lb-") as folder:
        try:
            system.build()
            start_s = _time_to_first_trial(system)
            services = ("api", "beat", "dashboard", "testbed", "worker")
            system.compose("up", "--detach", "--wait", "--scale", f"worker={max(PATHS)}", *services)
            ratios = _ratios(system, Path(folder))
            floors = {paths: _floors(system, paths) for paths in PATHS}
        finally:
            system.close()
    print(f"docker compose up to the first trial: {start_s:.1f} s")
    goals = [{"what": "docker compose up to the first trial s", "value": start_s, "at_most": 25.0}]
    for client, found in ratios.items():
        middle = statistics.median(found)
        print(f"{client}: container/embedded {middle:.4f} (of {PAIRS}: {min(found):.4f} to {max(found):.4f})")
        goals.append({"what": f"|container/embedded - 1| % {client}", "value": abs(middle - 1) * 100, "at_most": 3.0})
    for paths, found in floors.items():
        print(f"{paths} at once: A/A floor {', '.join(f'{floor:.2f}' for floor in found)} %")
    goals.append({"what": f"A/A floor % of {max(PATHS)} workers", "value": max(floors[max(PATHS)]), "at_most": 1.0})
    return {"goals": goals, "ratios": ratios, "floors": {str(paths): found for paths, found in floors.items()}}


def _time_to_first_trial(system: System) -> float:
    began = time.monotonic()
    system.compose("up", "--detach")
    system.wait(lambda: any(item["trials_done"] for item in system.get("/campaigns")["items"]), 120, "a first trial")
    elapsed_s = time.monotonic() - began
    ident = system.get("/campaigns")["items"][0]["id"]
    system.http.post(f"/campaigns/{ident}/cancel")
    return elapsed_s


def _ratios(system: System, folder: Path) -> dict[str, list[float]]:
    ratios: dict[str, list[float]] = {client: [] for client in CLIENTS}
    arguments = ["measure", URL, "-n", str(ROUNDS), "--seed", "1", "--json", *(f"--client={c}" for c in CLIENTS)]
    here = [str(Path(sys.executable).with_name("lastbyte")), *arguments]
    environment = {**os.environ, "LASTBYTE_VAR": str(folder)}
    with running_testbed(folder):
        for _ in range(PAIRS):
            plain = subprocess.run(here, env=environment, capture_output=True, text=True, check=True).stdout
            contained = system.compose("exec", "-T", "--index", "1", "worker", "lastbyte", *arguments)
            for client in CLIENTS:
                ratios[client].append(_median_s(contained, client) / _median_s(plain, client))
    return ratios


def _floors(system: System, paths: int) -> list[float]:
    """A/A floors in percent of ``paths`` workers that measure at the same time."""
    arguments = ["measure", URL, "-n", str(AA_ROUNDS), "--seed", "1", "--json", "--aa", f"--client={CLIENTS[0]}"]

    def one(index: int) -> float:
        shown = system.compose("exec", "-T", "--index", str(index), "worker", "lastbyte", *arguments)
        return float(json.loads(shown)["profiles"][0]["aa_floor_pct"])

    with ThreadPoolExecutor(max_workers=paths) as pool:
        return list(pool.map(one, range(1, paths + 1)))


def _median_s(document: str, client: str) -> float:
    return float(json.loads(document)["profiles"][0]["arms"][client]["median_ttlb_s"])

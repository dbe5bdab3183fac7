"""What containers cost: a trial in a worker container against one without, and how many paths a machine carries.

Needs a container engine (see tests/compose). Both sides run `lastbyte measure`, the same code as a worker's, in turns,
on the same kind of box and the same servers. The origin is one whose congestion control is the same on both sides.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
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
            loads = {paths: _at_once(system, paths) for paths in PATHS}
        finally:
            system.close()
    print(f"docker compose up to the first trial: {start_s:.1f} s")
    goals = [{"what": "docker compose up to the first trial s", "value": start_s, "at_most": 25.0}]
    for client, found in ratios.items():
        middle = statistics.median(found)
        print(f"{client}: container/embedded {middle:.4f} (of {PAIRS}: {min(found):.4f} to {max(found):.4f})")
        goals.append({"what": f"|container/embedded - 1| % {client}", "value": abs(middle - 1) * 100, "at_most": 3.0})
    for paths, load in loads.items():
        shown = ", ".join(f"{floor:.2f}" for floor in load.floors_pct)
        print(f"{paths} at once: A/A floor {shown} %; {load.core_share:.2f} of a core each; {load.left_out} left out")
    goals.append(
        {"what": f"A/A floor % of {max(PATHS)} workers", "value": max(loads[max(PATHS)].floors_pct), "at_most": 1.0}
    )
    return {"goals": goals, "ratios": ratios, "at_once": {str(paths): asdict(load) for paths, load in loads.items()}}


def _time_to_first_trial(system: System) -> float:
    began = time.monotonic()
    system.compose("up", "--detach")
    system.wait(lambda: any(item["trials_done"] for item in system.get("/campaigns")["items"]), 600, "a first trial")
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
            plain = subprocess.run(here, env=environment, capture_output=True, text=True, check=False)
            if plain.returncode != 0:
                raise SystemExit(f"lastbyte measure failed here: {plain.stderr.strip()}")
            contained = system.compose("exec", "-T", "--index", "1", "worker", "lastbyte", *arguments)
            boxes = {json.loads(shown)["profiles"][0]["proof"]["box_kind"] for shown in (plain.stdout, contained)}
            if len(boxes) != 1:
                raise SystemExit(f"not the same kind of box on both sides: {', '.join(sorted(boxes))}")
            for client in CLIENTS:
                ratios[client].append(_median_s(contained, client) / _median_s(plain.stdout, client))
    return ratios


@dataclass(frozen=True, slots=True)
class AtOnce:
    """What so many workers were like that measured at the same time."""

    floors_pct: list[float]
    core_share: float
    """CPU time of a worker's container by wall time: its client, its box and the harness."""
    left_out: int
    """Trials that the proof of the link refused."""


def _at_once(system: System, paths: int) -> AtOnce:
    """``paths`` workers run a client against itself at the same time."""
    arguments = ["measure", URL, "-n", str(AA_ROUNDS), "--seed", "1", "--json", "--aa", f"--client={CLIENTS[0]}"]

    def one(index: int) -> tuple[float, float, int]:
        inside = ("exec", "-T", "--index", str(index), "worker")
        began, cpu_s = time.monotonic(), _cpu_s(system, inside)
        (found,) = json.loads(system.compose(*inside, "lastbyte", *arguments))["profiles"]
        share = (_cpu_s(system, inside) - cpu_s) / (time.monotonic() - began)
        left_out = sum(sum(arm["left_out"].values()) for arm in found["arms"].values())
        if found["aa_floor_pct"] is None:
            raise SystemExit(f"worker {index} of {paths} has no floor: {left_out} trials were left out")
        return float(found["aa_floor_pct"]), share, left_out

    with ThreadPoolExecutor(max_workers=paths) as pool:
        floors, shares, left_out = zip(*pool.map(one, range(1, paths + 1)), strict=True)
    return AtOnce(list(floors), statistics.mean(shares), sum(left_out))


def _cpu_s(system: System, inside: tuple[str, ...]) -> float:
    """CPU time that a container has used, by its own control group (version 2 in microseconds, 1 in nanoseconds)."""
    group = "/sys/fs/cgroup"
    text = system.compose(*inside, "sh", "-c", f"cat {group}/cpu.stat {group}/cpuacct/cpuacct.usage 2>/dev/null; true")
    if found := re.search(r"^usage_usec (\d+)$", text, re.MULTILINE):
        return int(found[1]) / 1e6
    return int(text.split()[-1]) / 1e9


def _median_s(document: str, client: str) -> float:
    return float(json.loads(document)["profiles"][0]["arms"][client]["median_ttlb_s"])

"""What the harness costs: a campaign's wall time against a bare shell loop of the very same commands.

Both run over a link of the same shape to the same origin, in turns, so that a noisy machine is noisy to both.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import statistics
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from lastbyte import wiring
from lastbyte.services.link import Link
from netem.factory import ShapedPathFactory
from tests.stack import Stack

ROUNDS = 20
PAIRS = 3
CLIENTS = ["curl-quiche-h2", "curl-quiche-h3"]
GOALS = {"100KB": 1.25, "1MB": 1.05}


def run() -> dict[str, Any]:
    """Ratios per object size; a goal each."""
    goals, rows = [], []
    with Stack("--no-demo") as stack, _var_folder(stack.var):
        warm_up = stack.post(endpoints=["testbed-caddy-100KB"], profiles=["baseline"], clients=CLIENTS, rounds=1)
        stack.wait_done(warm_up["id"])
        with Link(ShapedPathFactory()) as link:
            for size, at_most in GOALS.items():
                row = _compare(stack, link, size)
                rows.append(row)
                ratio = statistics.median(row["ratios"])
                print(
                    f"{size:>6}: campaign {row['campaign_s']:.2f} s, shell loop {row['loop_s']:.2f} s for "
                    f"{row['trials']} trials; ratio {ratio:.3f} (of {PAIRS}: {min(row['ratios']):.3f} to "
                    f"{max(row['ratios']):.3f}), goal {at_most}; "
                    f"{(row['campaign_s'] - row['loop_s']) / row['trials'] * 1000:.1f} ms a trial"
                )
                goals.append({"what": f"campaign/loop {size}", "value": ratio, "at_most": at_most})
    return {"goals": goals, "rows": rows}


@contextlib.contextmanager
def _var_folder(folder: Path) -> Iterator[None]:
    """The stack's folder as this process's, so that the link finds the stack's testbed; given back afterwards."""
    before = os.environ.get("LASTBYTE_VAR")
    os.environ["LASTBYTE_VAR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["LASTBYTE_VAR"]
        else:
            os.environ["LASTBYTE_VAR"] = before


def _compare(stack: Stack, link: Link, size: str) -> dict[str, Any]:
    endpoint = wiring.endpoint_of(f"https://testbed-caddy.test/{size}.bin")
    link.shape(wiring.profiles()["baseline"], endpoint.base_rtt_ms)
    campaigns, loops, trials = [], [], []
    for _ in range(PAIRS):
        created = stack.post(
            name=f"bench {size}", endpoints=[endpoint.id], profiles=["baseline"], clients=CLIENTS, rounds=ROUNDS
        )
        done = stack.wait_done(created["id"], 600)
        assert done["trials_failed"] == 0, stack.tail()
        campaigns.append(_seconds(done["started_at"], done["finished_at"]))
        trials = sorted(stack.trials(created["id"]), key=lambda trial: trial["started_at"])
        cell = stack.heatmap(created["id"])["providers"][0]["cells"][0]
        commands = [cell["proof"]["commands"][trial["client"]] for trial in trials]
        loops.append(_shell_loop(link, commands))
    return {
        "size": size,
        "trials": len(trials),
        "campaign_s": statistics.median(campaigns),
        "loop_s": statistics.median(loops),
        "ratios": [a / b for a, b in zip(campaigns, loops, strict=True)],
    }


def _shell_loop(link: Link, commands: list[list[str]]) -> float:
    script = "\n".join(f"{shlex.join(command)} > /dev/null 2>&1 || exit 1" for command in commands)
    started = time.perf_counter()
    subprocess.run([*link.command_prefix(), "/bin/bash", "-c", script], check=True)
    return time.perf_counter() - started


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()

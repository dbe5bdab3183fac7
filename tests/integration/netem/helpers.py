"""Helpers of these tests: processes, links, tables, and another process that owns a path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from netem.rundir import start_time_of


def descendants(pid: int) -> dict[int, int | None]:
    """Every process below ``pid``, with its start time."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(errors="replace")
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found: dict[int, int | None] = {}
    queue = [pid]
    while queue:
        parent = queue.pop()
        for child in [child for child, its in parents.items() if its == parent]:
            found[child] = start_time_of(child)
            queue.append(child)
    return found


def survivors(processes: dict[int, int | None]) -> list[int]:
    return [pid for pid, start in processes.items() if start is not None and start_time_of(pid) == start]


def links(prefix: tuple[str, ...] = ()) -> set[str]:
    """Interfaces, without those that come and go with other processes: NAT links of paths, cables of containers."""
    text = subprocess.run([*prefix, "ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    others = ("lbn", "veth", "br-", "docker")
    return {name for line in text.splitlines() if not (name := line.split(": ")[1]).startswith(others) or prefix}


def firewall_rules(prefix: tuple[str, ...] = ()) -> set[str]:
    """nft tables and iptables rules, without those of paths that other processes may have open meanwhile."""
    lines = _said(*prefix, "nft", "list", "tables")
    for program in ("iptables", "ip6tables"):
        saved = _said(*prefix, "xtables-legacy-multi", f"{program}-save")
        lines += [f"{program} {line}" for line in saved if line.startswith("-A")]
    return {line for line in lines if "lastbyte_" not in line or prefix}


def owned_rules(prefix: tuple[str, ...]) -> set[tuple[str, str]]:
    """(family, path) of what masquerades for paths."""
    return {
        (line.removeprefix("table ").split()[0].removesuffix("tables"), word)
        for line in firewall_rules(prefix)
        for word in line.split()
        if word.startswith("lastbyte_")
    }


def _said(*command: str) -> list[str]:
    if shutil.which(command[-2] if command[-1].endswith("-save") else "nft") is None:
        return []
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def eventually(condition: Callable[[], bool], timeout_s: float = 60.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Owner:
    """Another process that opens a path and waits."""

    def __init__(
        self,
        box: str,
        run_root: Path,
        *,
        uplink: str = "none",
        prefix: tuple[str, ...] = (),
        in_thread: bool = False,
    ) -> None:
        opening = f"ShapedPathFactory({box!r}, {uplink!r}).open()"
        if in_thread:  # one that is over long before the path is
            opening = f"in_thread(lambda: {opening})"
        script = (
            "import sys, time\n"
            "from netem.namespaces import in_thread\n"
            "from netem.cli import closed_on_sigterm\n"
            "from netem.factory import ShapedPathFactory\n"
            f"with closed_on_sigterm(), {opening} as path:\n"
            "    print('ready', flush=True)\n"
            "    time.sleep(120)\n"
        )
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LASTBYTE_RUN": str(run_root)},
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        self.children = descendants(self.process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

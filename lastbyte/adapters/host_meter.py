"""The machine that measures, from /proc and /sys; implements ``lastbyte.ports.HostMeter``.

Read before and after every trial, so it must be cheap: descriptors stay open, and a reading takes about 0.1 ms.
"""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from lastbyte.ports import HostReading

_TICKS_S = os.sysconf("SC_CLK_TCK")
_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")

NETWORK_SETTINGS = {
    "rmem_default": "/proc/sys/net/core/rmem_default",
    "rmem_max": "/proc/sys/net/core/rmem_max",
    "tcp_rmem": "/proc/sys/net/ipv4/tcp_rmem",
    "tcp_congestion_control": "/proc/sys/net/ipv4/tcp_congestion_control",
    "tcp_no_metrics_save": "/proc/sys/net/ipv4/tcp_no_metrics_save",
}
"""Settings of the client's namespace that matter: curl never sets SO_RCVBUF, so rmem_default rules its UDP sockets."""
_READ_LIMIT_S = 5.0


class ProcHostMeter:
    """Reads /proc; what a kernel lacks is left out."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._stat, self._load, self._pressure = (_opened(proc / name) for name in ("stat", "loadavg", "pressure/cpu"))

    def read(self, box_pids: Sequence[int]) -> HostReading | None:
        """The counters now; None where /proc can't be read."""
        if self._stat is None or self._load is None:
            return None
        cpu_s, idle_s, steal_s = parse_cpu(_text(self._stat))
        return HostReading(
            at_s=time.monotonic(),
            cpu_s=cpu_s,
            idle_s=idle_s,
            steal_s=steal_s,
            load1=float(_text(self._load).split()[0]),
            pressure_s=None if self._pressure is None else parse_pressure(_text(self._pressure)),
            box_s=cpu_seconds(box_pids) if box_pids else None,
        )

    def describe(self, prefix: Sequence[str]) -> Mapping[str, object]:
        """Kernel, clock source, CPUs, and the network settings of the namespace that ``prefix`` leads into."""
        found: dict[str, object] = {
            "kernel": platform.release(),
            "cpus": os.cpu_count(),
            "clock_source": _CLOCK_SOURCE.read_text().strip() if _CLOCK_SOURCE.exists() else None,
        }
        command = [*prefix, "grep", "-H", "", *NETWORK_SETTINGS.values()]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(command, capture_output=True, text=True, timeout=_READ_LIMIT_S, check=False)
            said = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
            found |= {name: said[file] for name, file in NETWORK_SETTINGS.items() if file in said}
        return {name: _number(value) for name, value in found.items()}


def parse_cpu(stat: str) -> tuple[float, float, float]:
    """All CPUs' time, its idle and its stolen part, in seconds, from /proc/stat (proc_stat(5)).

    The line ``cpu`` is: user nice system idle iowait irq softirq steal guest guest_nice; guest time is in user already.
    """
    ticks = [int(word) for word in stat.split("\n", 1)[0].split()[1:]]
    return sum(ticks[:8]) / _TICKS_S, (ticks[3] + ticks[4]) / _TICKS_S, ticks[7] / _TICKS_S


def parse_pressure(text: str) -> float | None:
    """Seconds in which some task waited, from the line ``some ... total=<us>`` of /proc/pressure/cpu."""
    for line in text.splitlines():
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) / 1e6
    return None


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU time of these processes so far; one that has gone counts nothing.

    By the kernel's per-process CPU clock (clock_getcpuclockid(3)): nanoseconds, where /proc/<pid>/stat has 10 ms ticks.
    """
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += time.clock_gettime((~pid << 3) | 2)
    return total


def descendants(name: str, proc: Path = Path("/proc")) -> list[int]:
    """This process's children, their children and so on that have this name. Reads all of /proc: some milliseconds."""
    children: dict[int, list[tuple[int, str]]] = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text(errors="replace")
        except OSError:
            continue  # it has just ended
        # proc_pid_stat(5): pid (name) state ppid ...; a name may hold anything, brackets too
        opened, closed = stat.index("("), stat.rindex(")")
        parent = int(stat[closed + 2 :].split()[1])
        children.setdefault(parent, []).append((int(folder.name), stat[opened + 1 : closed]))
    found, left = [], [os.getpid()]
    while left:
        for pid, comm in children.get(left.pop(), []):
            left.append(pid)
            if comm == name:
                found.append(pid)
    return sorted(found)


def _number(value: object) -> object:
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _opened(file: Path) -> int | None:
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _text(descriptor: int) -> str:
    return os.pread(descriptor, 4096, 0).decode("ascii", "replace")

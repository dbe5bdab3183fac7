"""The machine that measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class HostReading:
    """Counters of the machine since it started, at one moment."""

    at_s: float
    """Monotonic clock, in seconds."""
    cpu_s: float
    """All CPUs' time together, in seconds."""
    idle_s: float
    steal_s: float
    load1: float
    pressure_s: float | None = None
    """Time in which some task waited for a CPU; None where the kernel does not count it."""
    box_s: float | None = None
    """CPU time of the box's processes; None when it has none."""


class HostMeter(Protocol):
    """Reads the machine that measures."""

    def read(self, box_pids: Sequence[int]) -> HostReading | None:
        """Now; None where this machine does not tell. Well below a millisecond."""

    def describe(self, prefix: Sequence[str]) -> Mapping[str, object]:
        """What may matter to a result and does not change while a path lives, as JSON values; read on the client's
        side of the path, where ``prefix`` makes commands run."""

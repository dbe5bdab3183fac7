"""Phases of a fetch over socket samples: mean and population standard deviation per delay and protocol."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

IDLE_TIMEOUT_MS = 10_000.0
"""node.js closes an idle QUIC socket after 10 s; the tables take this off the close phase of QUIC."""

PHASES = ("handshake", "ttfb", "transfer", "close")


@dataclass(frozen=True, slots=True)
class SocketSample:
    """One measurement of a QUIC or TCP+TLS socket, as its server saw it. Times in milliseconds."""

    protocol: str
    """``quic`` or ``tcp``."""
    delay_ms: float
    """Extra round-trip time that was set."""
    started_at: datetime
    """The server's ``secure`` event, UTC."""
    handshake_ms: float
    ttfb_ms: float
    """``secure`` to ``data``."""
    transfer_ms: float
    """``data`` to ``streamEnd``."""
    socket_close_ms: float
    """``streamEnd`` to ``socketClose``, the idle time-out of QUIC included."""

    @property
    def waited_for_idle(self) -> bool:
        """True when the socket closed because it was idle: QUIC, and the better part of the time-out went by."""
        return self.protocol == "quic" and self.socket_close_ms >= IDLE_TIMEOUT_MS / 2

    @property
    def close_ms(self) -> float:
        """The close phase without the idle time-out."""
        return self.socket_close_ms - (IDLE_TIMEOUT_MS if self.waited_for_idle else 0.0)

    def phase_ms(self, phase: str) -> float:
        """One of ``PHASES``."""
        return {
            "handshake": self.handshake_ms,
            "ttfb": self.ttfb_ms,
            "transfer": self.transfer_ms,
            "close": self.close_ms,
        }[phase]


@dataclass(frozen=True, slots=True)
class PhaseSummary:
    """One phase of all samples of a row, in milliseconds."""

    mean_ms: float
    sd_ms: float
    """Population standard deviation: divided by n."""


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """One delay and protocol."""

    delay_ms: float
    protocol: str
    n: int
    idle_timeouts: int
    """Samples whose close phase had the idle time-out taken off."""
    phases: dict[str, PhaseSummary]


def phase_table(samples: Sequence[SocketSample]) -> list[PhaseRow]:
    """A row per delay and protocol, QUIC before TCP, delays rising."""
    groups: dict[tuple[float, str], list[SocketSample]] = defaultdict(list)
    for sample in samples:
        groups[sample.delay_ms, sample.protocol].append(sample)
    return [
        PhaseRow(
            delay_ms=delay_ms,
            protocol=protocol,
            n=len(group),
            idle_timeouts=sum(sample.waited_for_idle for sample in group),
            phases={phase: _summary([sample.phase_ms(phase) for sample in group]) for phase in PHASES},
        )
        for (delay_ms, protocol), group in sorted(groups.items())
    ]


def _summary(values: Sequence[float]) -> PhaseSummary:
    return PhaseSummary(statistics.fmean(values), statistics.pstdev(values))

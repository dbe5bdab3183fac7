"""What acknowledged bytes over time say: rate, stalls, and when slow start ended. Pure.

Everything is told at the client, so it is what arrived and was acknowledged, not what was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastbyte.domain.acks import AckTrace

STALL_RTTS = 1.5
"""A stall is longer than this many round trips: one is the ordinary wait between two flights of slow start, and losses
are detected after 9/8 of one (RFC 9002, 6.1.2)."""
MIN_STALL_MS = 10.0
FULL_PIPE_GROWTH = 1.25
FULL_PIPE_ROUNDS = 3
"""Slow start is over when the rate has not grown by a quarter in three round trips: the criterion of BBR's startup
(draft-ietf-ccwg-bbr, 5.3.1.2)."""
SLOPE_FROM, SLOPE_TO = 0.25, 0.95
"""Part of the bytes over which the slope is taken: without slow start and the last flight."""
MIN_SLOPE_POINTS = 5


@dataclass(frozen=True, slots=True)
class Stall:
    """A while in which nothing new was acknowledged."""

    start_ms: float
    end_ms: float
    acked_bytes: int
    """Bytes acknowledged so far."""

    @property
    def duration_ms(self) -> float:
        """How long it was."""
        return self.end_ms - self.start_ms


@dataclass(frozen=True, slots=True)
class AckFigures:
    """Numbers beside the plot."""

    acks: int
    acked_bytes: int
    bytes_per_ack: float
    last_ms: float
    """First packet to the acknowledgement that brought the last new bytes."""
    goodput_mbit_s: float | None
    """All acknowledged bytes over all of that time."""
    slope_mbit_s: float | None
    """Least-squares line through the acknowledgements from 25 % to 95 % of the bytes; None below five of them."""
    wire_slope_mbit_s: float | None
    """The slope with all headers: times bytes on the wire over bytes received; None without a capture."""
    slow_start_exit_ms: float | None
    """When the rate had stopped to grow; None when that can't be told: no round-trip time, or too short a fetch."""
    stall_threshold_ms: float
    stalls: tuple[Stall, ...]
    stalled_ms: float
    """All of the stalls together."""
    retransmitted_bytes: int


def figures(trace: AckTrace, stall_ms: float | None = None) -> AckFigures:
    """The numbers of a trace; ``stall_ms``: what counts as a stall, None: 1.5 round trips, 10 ms at least."""
    at_ms = np.array([point.at_ms for point in trace.points], dtype=float)
    acked = np.array([point.acked_bytes for point in trace.points], dtype=float)
    grew = np.flatnonzero(np.diff(acked, prepend=0.0) > 0)
    threshold_ms = stall_ms if stall_ms is not None else max(MIN_STALL_MS, STALL_RTTS * (trace.rtt_ms or 0.0))
    last_ms = float(at_ms[grew[-1]]) if grew.size else 0.0
    slope = _slope(at_ms[grew], acked[grew])
    stalls = _stalls(at_ms[grew], acked[grew], threshold_ms)
    return AckFigures(
        acks=len(trace.points),
        acked_bytes=trace.acked_bytes,
        bytes_per_ack=trace.acked_bytes / len(trace.points) if trace.points else 0.0,
        last_ms=last_ms,
        goodput_mbit_s=trace.acked_bytes * 8 / last_ms / 1000 if last_ms > 0 else None,
        slope_mbit_s=slope,
        wire_slope_mbit_s=slope * trace.wire_bytes / trace.received_bytes
        if slope and trace.wire_bytes and trace.received_bytes
        else None,
        slow_start_exit_ms=_slow_start_exit(at_ms[grew], acked[grew], trace.rtt_ms),
        stall_threshold_ms=threshold_ms,
        stalls=stalls,
        stalled_ms=sum(stall.duration_ms for stall in stalls),
        retransmitted_bytes=sum(piece.byte_count for piece in trace.retransmitted),
    )


def _stalls(at_ms: NDArray[np.float64], acked: NDArray[np.float64], threshold_ms: float) -> tuple[Stall, ...]:
    """Gaps between acknowledgements that brought something new."""
    found = np.flatnonzero(np.diff(at_ms) > threshold_ms)
    return tuple(Stall(float(at_ms[i]), float(at_ms[i + 1]), int(acked[i])) for i in found)


def _slope(at_ms: NDArray[np.float64], acked: NDArray[np.float64]) -> float | None:
    if not acked.size:
        return None
    within = (acked >= SLOPE_FROM * acked[-1]) & (acked <= SLOPE_TO * acked[-1])
    if np.count_nonzero(within) < MIN_SLOPE_POINTS or np.ptp(at_ms[within]) <= 0:
        return None
    return float(np.polyfit(at_ms[within], acked[within], 1)[0]) * 8 / 1000


def _slow_start_exit(at_ms: NDArray[np.float64], acked: NDArray[np.float64], rtt_ms: float | None) -> float | None:
    """End of the last round trip in which the best rate so far grew by a quarter, once three went by without."""
    if not rtt_ms or acked.size < 2 or at_ms[-1] - at_ms[0] < (FULL_PIPE_ROUNDS + 1) * rtt_ms:
        return None
    edges = np.arange(at_ms[0], at_ms[-1], rtt_ms)
    levels = np.interp(edges, at_ms, acked)
    per_round = np.diff(levels)
    return _full_pipe_at(per_round.tolist(), edges.tolist())


def _full_pipe_at(per_round: Sequence[float], edges: Sequence[float]) -> float | None:
    best, grown_at, without = 0.0, 0, 0
    for index, amount in enumerate(per_round):
        if amount >= best * FULL_PIPE_GROWTH and amount > 0:
            best, grown_at, without = amount, index, 0
        elif best:
            without += 1
        if without == FULL_PIPE_ROUNDS:
            return edges[grown_at + 1]
    return None

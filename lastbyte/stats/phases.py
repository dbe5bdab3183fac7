"""Which phase of a fetch explains the difference between two clients.

TTLB is cut into handshake (start to handshake done), wait (to the first byte) and transfer (first to last byte). Each
phase is compared as the whole is: over the rounds, by the median of paired differences in ms.

In a single round the phases add up to the TTLB, but medians do not add up: the median of sums is not the sum of
medians. What is left over is given as ``residual_ms`` and never spread over the phases. A large residual means that
different rounds differ in different phases (a loss now here, now there), and then no single phase explains anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lastbyte.stats.intervals import SMALLEST_N, Array, attained, median_intervals
from lastbyte.stats.paired import percent

PHASES = ("handshake", "wait", "transfer")


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """One trial's phases in seconds; they add up to its TTLB."""

    handshake_s: float
    wait_s: float
    transfer_s: float

    @classmethod
    def of_marks(cls, handshake_s: float, ttfb_s: float, ttlb_s: float) -> PhaseTimes:
        """From three moments, in seconds since the start of the connection."""
        return cls(handshake_s, ttfb_s - handshake_s, ttlb_s - ttfb_s)


@dataclass(frozen=True, slots=True)
class PhaseDifference:
    """One phase, or the total, of the candidate against the baseline; negative: the candidate is faster."""

    phase: str
    baseline_ms: float
    """Median of the baseline."""
    candidate_ms: float
    diff_ms: float
    """Median of the paired differences."""
    ci_low_ms: float
    ci_high_ms: float
    diff_pct: float | None
    """Median of the paired ratios as a percentage of the phase itself; None where a time is zero."""
    of_total_pct: float | None
    """``diff_ms`` in percent of the difference of the total; None where that cannot be told from zero."""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A difference in TTLB, phase by phase."""

    n: int
    """Paired rounds."""
    confidence: float
    """The level the intervals can claim with so many rounds."""
    total: PhaseDifference
    phases: tuple[PhaseDifference, ...]
    residual_ms: float
    """``total.diff_ms`` less the sum of the phases' ``diff_ms``: medians do not add up."""
    explains: str | None
    """The phase with the largest difference in the direction of the total, where both intervals leave out zero and it
    is more than the residual; else None."""


def decompose(
    baseline: Sequence[PhaseTimes], candidate: Sequence[PhaseTimes], confidence: float = 0.95
) -> Decomposition | None:
    """Decompose the difference of two arms; item i of each is round i, and both have one length. None below two rounds.

    Raises ValueError for unequal lengths and for times that are negative or not finite.
    """
    if len(baseline) != len(candidate):
        msg = f"paired samples need one length, got {len(baseline)} and {len(candidate)}"
        raise ValueError(msg)
    n = len(baseline)
    if n < 2:
        return None
    total, *phases = _differences(_matrix(baseline), _matrix(candidate), confidence)
    known = total.ci_low_ms > 0 or total.ci_high_ms < 0
    if known:
        phases = [replace(phase, of_total_pct=phase.diff_ms / total.diff_ms * 100) for phase in phases]
        total = replace(total, of_total_pct=100.0)
    residual_ms = total.diff_ms - sum(phase.diff_ms for phase in phases)
    explains = _explains(total, phases, residual_ms) if known and n >= SMALLEST_N else None
    return Decomposition(n, attained(n, confidence), total, tuple(phases), residual_ms, explains)


def _matrix(trials: Sequence[PhaseTimes]) -> Array:
    """Total, handshake, wait and transfer of each trial in seconds, shape (4, n)."""
    times = np.array([(t.handshake_s, t.wait_s, t.transfer_s) for t in trials], dtype=float).T
    if not np.isfinite(times).all() or (times < 0).any():
        raise ValueError("times of phases must be finite and not negative")
    return np.vstack([times.sum(axis=0), times])


def _differences(baseline_s: Array, candidate_s: Array, confidence: float) -> list[PhaseDifference]:
    # to the nanosecond, so that equal phases differ by 0 and not by what subtracting floats leaves
    differences_ms = np.round((candidate_s - baseline_s) * 1000, 6)
    ends_ms = median_intervals(differences_ms, confidence)
    medians_ms = np.median(differences_ms, axis=1)
    sides_ms = np.median(np.stack([baseline_s, candidate_s]), axis=2) * 1000
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.median(np.log(candidate_s) - np.log(baseline_s), axis=1)
    has_ratio: Sequence[bool] = (np.minimum(baseline_s, candidate_s).min(axis=1) > 0).tolist()
    return [
        PhaseDifference(
            phase=name,
            baseline_ms=float(sides_ms[0, row]),
            candidate_ms=float(sides_ms[1, row]),
            diff_ms=float(medians_ms[row]),
            ci_low_ms=float(ends_ms[row, 0]),
            ci_high_ms=float(ends_ms[row, 1]),
            diff_pct=percent(float(ratios[row])) if has_ratio[row] else None,
            of_total_pct=None,
        )
        for row, name in enumerate(("total", *PHASES))
    ]


def _explains(total: PhaseDifference, phases: Sequence[PhaseDifference], residual_ms: float) -> str | None:
    same_way = [
        phase
        for phase in phases
        if (phase.ci_low_ms > 0 and total.diff_ms > 0) or (phase.ci_high_ms < 0 and total.diff_ms < 0)
    ]
    if not same_way:
        return None
    largest = max(same_way, key=lambda phase: abs(phase.diff_ms))
    return largest.phase if abs(largest.diff_ms) > abs(residual_ms) else None

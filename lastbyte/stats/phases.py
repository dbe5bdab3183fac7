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
    base, cand = _matrix(baseline), _matrix(candidate)
    total = _difference("total", base.sum(axis=0), cand.sum(axis=0), None, confidence)
    known = total.ci_low_ms > 0 or total.ci_high_ms < 0
    whole_ms = total.diff_ms if known else None
    phases = tuple(
        _difference(name, one, other, whole_ms, confidence) for name, one, other in zip(PHASES, base, cand, strict=True)
    )
    if whole_ms is not None:
        total = replace(total, of_total_pct=100.0)
    residual_ms = total.diff_ms - sum(phase.diff_ms for phase in phases)
    explains = _explains(total, phases, residual_ms) if known and n >= SMALLEST_N else None
    return Decomposition(n, attained(n, confidence), total, phases, residual_ms, explains)


def _matrix(trials: Sequence[PhaseTimes]) -> Array:
    times = np.array([(t.handshake_s, t.wait_s, t.transfer_s) for t in trials], dtype=float).T
    if not np.isfinite(times).all() or (times < 0).any():
        raise ValueError("times of phases must be finite and not negative")
    return times


def _difference(
    name: str, baseline_s: Array, candidate_s: Array, whole_ms: float | None, confidence: float
) -> PhaseDifference:
    # to the nanosecond, so that equal phases differ by 0 and not by what subtracting floats leaves
    differences_ms = np.round((candidate_s - baseline_s) * 1000, 6)
    low, high = median_intervals(differences_ms[None, :], confidence)[0]
    diff_ms = float(np.median(differences_ms))
    ratio = None
    if (baseline_s > 0).all() and (candidate_s > 0).all():
        ratio = percent(float(np.median(np.log(candidate_s) - np.log(baseline_s))))
    return PhaseDifference(
        phase=name,
        baseline_ms=float(np.median(baseline_s) * 1000),
        candidate_ms=float(np.median(candidate_s) * 1000),
        diff_ms=diff_ms,
        ci_low_ms=float(low),
        ci_high_ms=float(high),
        diff_pct=ratio,
        of_total_pct=None if whole_ms is None else diff_ms / whole_ms * 100,
    )


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

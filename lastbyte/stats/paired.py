"""Two clients of one cell compared over their rounds.

The estimate is the median of the paired log-ratios candidate/baseline, given as a percentage. Ratios are taken within
a round, so drift of the network between rounds cancels; logs make a gain and its inverse symmetric. The interval is
that of `lastbyte.stats.intervals`: between order statistics by default, because a bootstrap of a median misses its
level in small samples (docs/adr/0010); BCa on request.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lastbyte.stats.intervals import SMALLEST_N, Array, Method, attained, ragged_intervals

MIN_ROUNDS_FOR_VERDICT = SMALLEST_N
"""Below six pairs no distribution-free 95 % interval of a median exists: even from the smallest to the largest value
it covers the median with 1 - 2 * 0.5**n only, 93.75 % at n = 5 (order statistics, binomial)."""

RESAMPLES = 2000
"""Of bootstraps that draw at random, as that of two unpaired samples does; the paired interval draws nothing."""

EQUIVALENCE_PCT = 3.0
"""Differences up to this much, either way, make no difference to anybody."""


class Verdict(enum.StrEnum):
    """What a cell says, in words."""

    H3_FASTER = "h3 faster"
    H2_FASTER = "h2 faster"
    EQUIVALENT = "equivalent"
    """The whole interval lies within the equivalence margin."""
    INCONCLUSIVE = "inconclusive"
    """The interval holds zero, or there are too few rounds."""
    UNPROVEN = "unproven"
    """The link was out of tolerance, so the numbers are kept out of comparisons."""
    NO_DATA = "no data"
    """No round in which both arms succeeded."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Candidate against baseline; percentages are negative where the candidate is faster."""

    n: int
    """Paired rounds."""
    diff_pct: float | None
    """Median difference in percent of the baseline's time; None without pairs, or when time-outs leave it open."""
    ci_low_pct: float | None
    """Lower end of the confidence interval in percent; None below two pairs, or when time-outs leave it open."""
    ci_high_pct: float | None
    """Upper end of the confidence interval in percent; None below two pairs, or when time-outs leave it open."""
    verdict: Verdict
    confidence: float = 0.95
    """The level that ``n`` pairs can give, at most the one asked for: 93.75 % for five, 95 % from six on."""
    below_floor: bool = False
    """The difference is no larger than what a client differs from itself by (see `lastbyte.stats.floor`)."""
    timed_out: int = 0
    """Pairs among ``n`` in which an arm timed out (see `lastbyte.stats.censored`)."""
    at_least_pct: float | None = None
    """Where the median is open because of time-outs: it is no less than this; None: no bound, or not open."""
    at_most_pct: float | None = None
    """Where the median is open because of time-outs: it is no more than this; None: no bound, or not open."""


def paired_rounds(baseline_s: Mapping[int, float], candidate_s: Mapping[int, float]) -> tuple[list[float], list[float]]:
    """Values of the rounds in which both arms succeeded, in the order of rounds; keys are round indices."""
    common = sorted(baseline_s.keys() & candidate_s.keys())
    return [baseline_s[r] for r in common], [candidate_s[r] for r in common]


def compare(
    baseline_s: Sequence[float],
    candidate_s: Sequence[float],
    equivalence_pct: float = EQUIVALENCE_PCT,
    confidence: float = 0.95,
    seed: int = 0,  # noqa: ARG001 - nothing is drawn any more, so every seed gives the same interval
    method: Method = "order",
) -> Comparison:
    """Compare two arms, pair by pair.

    ``baseline_s[i]`` and ``candidate_s[i]`` are the TTLB in seconds of round i, both shape (n,), positive and finite.
    For a cell measured with sequential stopping, give the plan's ``confidence`` (`lastbyte.stats.sequential`).
    The same input gives the same interval. Raises ValueError for unequal lengths or impossible times.
    """
    return compare_cells([(baseline_s, candidate_s)], equivalence_pct, confidence, method)[0]


def compare_cells(
    cells: Iterable[tuple[Sequence[float], Sequence[float]]],
    equivalence_pct: float = EQUIVALENCE_PCT,
    confidence: float = 0.95,
    method: Method = "order",
) -> list[Comparison]:
    """`compare` for a whole grid at once; cells may have different numbers of rounds. A thousand take milliseconds."""
    ratios = [log_ratios(baseline_s, candidate_s) for baseline_s, candidate_s in cells]
    ends = ragged_intervals(ratios, confidence, method)
    return [
        _comparison(sample, float(low), float(high), equivalence_pct, confidence)
        for sample, (low, high) in zip(ratios, ends, strict=True)
    ]


def log_ratios(baseline_s: Sequence[float], candidate_s: Sequence[float]) -> Array:
    """Natural logs of candidate/baseline per pair, shape (n,). Raises ValueError as `compare` does."""
    baseline = np.asarray(baseline_s, dtype=float)
    candidate = np.asarray(candidate_s, dtype=float)
    if baseline.shape != candidate.shape or baseline.ndim != 1:
        msg = f"paired samples need one length, got {baseline.shape} and {candidate.shape}"
        raise ValueError(msg)
    if not (np.isfinite(baseline).all() and np.isfinite(candidate).all()):
        raise ValueError("times must be finite")
    if (baseline <= 0).any() or (candidate <= 0).any():
        raise ValueError("times must be above zero")
    return np.asarray(np.log(candidate) - np.log(baseline), dtype=float)


def percent(log_ratio: float) -> float:
    """A log-ratio as a percentage: ln 2 is +100, -ln 2 is -50."""
    return math.expm1(log_ratio) * 100


def verdict_of(n: int, low_pct: float, high_pct: float, equivalence_pct: float = EQUIVALENCE_PCT) -> Verdict:
    """The verdict of an interval in percent, infinite where open; equivalence comes before a direction."""
    if n == 0:
        return Verdict.NO_DATA
    if n < MIN_ROUNDS_FOR_VERDICT:
        return Verdict.INCONCLUSIVE
    if -equivalence_pct <= low_pct and high_pct <= equivalence_pct:
        return Verdict.EQUIVALENT
    if high_pct < 0:
        return Verdict.H3_FASTER
    if low_pct > 0:
        return Verdict.H2_FASTER
    return Verdict.INCONCLUSIVE


def _comparison(sample: Array, low: float, high: float, equivalence_pct: float, confidence: float) -> Comparison:
    n = int(sample.size)
    level = attained(n, confidence)
    if n == 0:
        return Comparison(0, None, None, None, Verdict.NO_DATA, level)
    diff_pct = percent(float(np.median(sample)))
    if n == 1:
        return Comparison(1, diff_pct, None, None, Verdict.INCONCLUSIVE, level)
    low_pct, high_pct = percent(low), percent(high)
    return Comparison(n, diff_pct, low_pct, high_pct, verdict_of(n, low_pct, high_pct, equivalence_pct), level)

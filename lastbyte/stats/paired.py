"""Two clients of one cell compared over their rounds.

The estimate is the median of the paired log-ratios candidate/baseline, given as a percentage, with a BCa bootstrap
interval (Efron 1987, "Better bootstrap confidence intervals"; ``scipy.stats.bootstrap``). Ratios are taken within a
round, so drift of the network between rounds cancels; logs make +x % and its inverse symmetric.
"""

from __future__ import annotations

import enum
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MIN_ROUNDS_FOR_VERDICT = 6
"""Below six pairs no distribution-free 95 % interval of a median exists: even from the smallest to the largest value
it covers the median with 1 - 2 * 0.5**n only, 93.75 % at n = 5 (order statistics, binomial)."""

RESAMPLES = 2000


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
    """Median difference in percent of the baseline's time; None without pairs."""
    ci_low_pct: float | None
    """Lower end of the confidence interval in percent; None below two pairs."""
    ci_high_pct: float | None
    """Upper end of the confidence interval in percent; None below two pairs."""
    verdict: Verdict
    confidence: float = 0.95


def paired_rounds(baseline_s: Mapping[int, float], candidate_s: Mapping[int, float]) -> tuple[list[float], list[float]]:
    """Values of the rounds in which both arms succeeded, in the order of rounds; keys are round indices."""
    common = sorted(baseline_s.keys() & candidate_s.keys())
    return [baseline_s[r] for r in common], [candidate_s[r] for r in common]


def compare(
    baseline_s: Sequence[float],
    candidate_s: Sequence[float],
    equivalence_pct: float = 3.0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two arms, pair by pair.

    ``baseline_s[i]`` and ``candidate_s[i]`` are the TTLB in seconds of round i, both shape (n,), positive and finite.
    The same input and seed give the same interval. Raises ValueError for unequal lengths or impossible times.
    """
    baseline = np.asarray(baseline_s, dtype=float)
    candidate = np.asarray(candidate_s, dtype=float)
    if baseline.shape != candidate.shape or baseline.ndim != 1:
        msg = f"paired samples need one length, got {baseline.shape} and {candidate.shape}"
        raise ValueError(msg)
    if not (np.isfinite(baseline).all() and np.isfinite(candidate).all()):
        raise ValueError("times must be finite")
    if (baseline <= 0).any() or (candidate <= 0).any():
        raise ValueError("times must be above zero")
    n = int(baseline.size)
    if n == 0:
        return Comparison(0, None, None, None, Verdict.NO_DATA, confidence)
    log_ratios = np.log(candidate) - np.log(baseline)
    diff_pct = _percent(float(np.median(log_ratios)))
    if n == 1:
        return Comparison(1, diff_pct, None, None, Verdict.INCONCLUSIVE, confidence)
    low, high = _interval(log_ratios, confidence, seed)
    low_pct, high_pct = _percent(low), _percent(high)
    verdict = _verdict(n, low_pct, high_pct, equivalence_pct)
    return Comparison(n, diff_pct, low_pct, high_pct, verdict, confidence)


def _percent(log_ratio: float) -> float:
    return math.expm1(log_ratio) * 100


def _interval(log_ratios: np.ndarray, confidence: float, seed: int) -> tuple[float, float]:
    """BCa interval of the median; the whole range where too few pairs or ties make BCa undefined."""
    smallest, largest = float(log_ratios.min()), float(log_ratios.max())
    if log_ratios.size < MIN_ROUNDS_FOR_VERDICT or smallest == largest:
        return smallest, largest
    from scipy import stats as scipy_stats  # noqa: PLC0415 - takes a second to import, and most commands need none of it

    with warnings.catch_warnings():
        # ties make the jackknife degenerate; SciPy then warns and gives NaN, which is handled below
        warnings.simplefilter("ignore")
        result = scipy_stats.bootstrap(
            (log_ratios,),
            np.median,
            n_resamples=RESAMPLES,
            confidence_level=confidence,
            method="BCa",
            vectorized=True,
            rng=np.random.default_rng(seed),
        )
    low, high = float(result.confidence_interval.low), float(result.confidence_interval.high)
    if math.isnan(low) or math.isnan(high):
        return smallest, largest
    return low, high


def _verdict(n: int, low_pct: float, high_pct: float, equivalence_pct: float) -> Verdict:
    if n < MIN_ROUNDS_FOR_VERDICT:
        return Verdict.INCONCLUSIVE
    if -equivalence_pct <= low_pct and high_pct <= equivalence_pct:
        return Verdict.EQUIVALENT
    if high_pct < 0:
        return Verdict.H3_FASTER
    if low_pct > 0:
        return Verdict.H2_FASTER
    return Verdict.INCONCLUSIVE

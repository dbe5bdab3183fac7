"""Two samples that are not paired: difference of medians in percent with a bootstrap interval.

The estimate is ``median(candidate) / median(baseline) - 1``. Both samples are resampled on their own; the interval is
BCa (Efron 1987), or the percentile interval where ties make BCa undefined.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from lastbyte.stats.paired import Comparison, Verdict, verdict_of

RESAMPLES = 2000


def compare_unpaired(
    baseline_s: Sequence[float],
    candidate_s: Sequence[float],
    equivalence_pct: float = 3.0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two samples of TTLB in seconds, both above zero. ``n`` of the result is the smaller size.

    The same input and seed give the same interval. Below six values on a side there is no verdict.
    """
    baseline = np.asarray(baseline_s, dtype=float)
    candidate = np.asarray(candidate_s, dtype=float)
    n = int(min(baseline.size, candidate.size))
    if n == 0:
        return Comparison(0, None, None, None, Verdict.NO_DATA, confidence)
    if (baseline <= 0).any() or (candidate <= 0).any():
        raise ValueError("times must be above zero")
    diff_pct = float(_difference_pct(baseline, candidate))
    if n == 1:
        return Comparison(1, diff_pct, None, None, Verdict.INCONCLUSIVE, confidence)
    low, high = _interval(baseline, candidate, confidence, seed)
    return Comparison(n, diff_pct, low, high, verdict_of(n, low, high, equivalence_pct), confidence)


def _difference_pct(baseline: np.ndarray, candidate: np.ndarray, axis: int = -1) -> np.ndarray:
    ratio: np.ndarray = np.median(candidate, axis=axis) / np.median(baseline, axis=axis)
    return (ratio - 1) * 100


def _interval(baseline: np.ndarray, candidate: np.ndarray, confidence: float, seed: int) -> tuple[float, float]:
    from scipy import stats as scipy_stats  # noqa: PLC0415 - takes a second to import, and most commands need none of it

    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            # ties make the jackknife degenerate; SciPy then warns and gives NaN
            warnings.simplefilter("ignore")
            result = scipy_stats.bootstrap(
                (baseline, candidate),
                _difference_pct,
                n_resamples=RESAMPLES,
                confidence_level=confidence,
                method=method,
                vectorized=True,
                paired=False,
                rng=np.random.default_rng(seed),
            )
        low, high = float(result.confidence_interval.low), float(result.confidence_interval.high)
        if np.isfinite(low) and np.isfinite(high):
            return low, high
    only = float(_difference_pct(baseline, candidate))
    return only, only

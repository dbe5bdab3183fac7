"""Percentiles of one arm with intervals that assume no distribution.

The interval lies between two order statistics; whether a value is below the q-th percentile is a coin with chance q,
so the coverage is binomial (David and Nagaraja 2003, "Order Statistics", section 7.1). A tail needs many trials: the
upper end of a 95 % interval of p99 exists from 368 trials on, of p90 from 36. Until then that end is None, and ``n``
says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

DEFAULT_PERCENTS = (50.0, 90.0, 99.0)


@dataclass(frozen=True, slots=True)
class Percentile:
    """One percentile, in the unit of the values given."""

    percent: float
    n: int
    value: float | None
    """Interpolated between neighbours (Hyndman and Fan 1996, type 7, as NumPy, R and spreadsheets); None for n = 0."""
    ci_low: float | None
    """Lower end of the interval; None where n is too small for one on this side."""
    ci_high: float | None


def percentiles(
    values: Sequence[float], percents: Sequence[float] = DEFAULT_PERCENTS, confidence: float = 0.95
) -> list[Percentile]:
    """Percentiles of ``values`` with intervals; each side may miss with at most half of 1 - confidence.

    Raises ValueError for values that are not finite or percents outside 0 to 100 (both ends excluded).
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if not np.isfinite(ordered).all():
        raise ValueError("values must be finite")
    if any(not 0 < percent < 100 for percent in percents):
        raise ValueError("percents lie between 0 and 100")
    if not ordered.size:
        return [Percentile(percent, 0, None, None, None) for percent in percents]
    values_at = np.percentile(ordered, list(percents))
    return [
        _percentile(ordered, percent, float(value), (1 - confidence) / 2)
        for percent, value in zip(percents, values_at, strict=True)
    ]


def _percentile(ordered: np.ndarray, percent: float, value: float, tail: float) -> Percentile:
    n = ordered.size
    low_rank, high_rank = _ranks(n, percent, tail)
    return Percentile(
        percent=percent,
        n=n,
        value=value,
        ci_low=float(ordered[low_rank - 1]) if low_rank >= 1 else None,
        ci_high=float(ordered[high_rank - 1]) if high_rank <= n else None,
    )


@lru_cache(maxsize=4096)
def _ranks(n: int, percent: float, tail: float) -> tuple[int, int]:
    """Ranks of the interval's ends, from 1; 0 and n + 1 where there is none."""
    from scipy.stats import binom  # noqa: PLC0415 - takes a second to import, and most commands need none of it

    below = binom.cdf(np.arange(n), n, percent / 100)  # [i]: chance that at most i values lie below the percentile
    # x(k) is above the percentile when at most k - 1 values lie below it
    low_rank = int(np.searchsorted(below, tail, side="right"))
    return low_rank, int(np.searchsorted(below, 1 - tail, side="left")) + 1

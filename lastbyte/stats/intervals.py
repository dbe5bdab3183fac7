"""Confidence intervals of a median, for many cells at once, without drawing a random number.

Two ways, both from the sorted sample alone:

- ``order``: between two order statistics, as the sign test inverted, with interpolation (Hettmansperger and Sheather
  1986, "Confidence intervals based on interpolated order statistics", Statistics & Probability Letters 4). It covers
  95 to 97 % from six values on, whatever the distribution; this is the one verdicts rest on (docs/adr/0010).
- ``bca``: the bias-corrected and accelerated bootstrap (Efron 1987, "Better bootstrap confidence intervals", JASA 82),
  with the bootstrap distribution of the median written down exactly instead of sampled.

No SciPy here: importing it takes a second, and the command line needs an interval at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Method = Literal["order", "bca"]

SMALLEST_N = 6
"""Below six values even the whole range covers a median with less than 95 %: 1 - 2 * 0.5**n is 93.75 % at n = 5."""

_NEGLIGIBLE = 1e-13


def attained(n: int, confidence: float = 0.95) -> float:
    """The level an interval of ``n`` values can claim: the one asked for, or what the whole range covers if less."""
    return min(confidence, 1 - 2 * 0.5**n) if n else 0.0


def median_intervals(samples: Array, confidence: float = 0.95, method: Method = "order") -> Array:
    """Intervals of the medians of ``samples``, shape (cells, n), as shape (cells, 2), in the unit of the samples.

    The whole range where n is too small for the level. Infinite values are allowed with ``order`` and mean
    "beyond what was seen". A sample of equal values gives an interval without width.
    """
    ordered = np.sort(samples, axis=1)
    n = ordered.shape[1]
    if n == 0:
        raise ValueError("a median needs at least one value")
    if order_weights(n, confidence) is None:
        return np.stack([ordered[:, 0], ordered[:, -1]], axis=1)
    return _bca(ordered, confidence) if method == "bca" else order_ends(ordered, ordered, confidence)


def ragged_intervals(samples: Sequence[Array], confidence: float = 0.95, method: Method = "order") -> Array:
    """As `median_intervals` for cells with different numbers of values; NaN for a cell with none."""
    return by_length(samples, lambda block: median_intervals(block, confidence, method))


def by_length(samples: Sequence[Array], function: Callable[[Array], Array]) -> Array:
    """Apply ``function`` from (cells, n) to (cells, k = 2) to all samples of one length together; order is kept."""
    groups: dict[int, list[int]] = defaultdict(list)
    for index, sample in enumerate(samples):
        groups[len(sample)].append(index)
    result = np.full((len(samples), 2), np.nan)
    for n, indices in groups.items():
        if n:
            result[indices] = function(np.stack([samples[i] for i in indices]))
    return result


@lru_cache(maxsize=4096)
def order_weights(n: int, confidence: float) -> tuple[int, float] | None:
    """Rank k (from 1) and weight w of the interval's ends; None where no interval of that level exists.

    The ends are (1 - w) * x(k) + w * x(k + 1) and its mirror image. Covering with ranks k has exactly the binomial
    probability of the sign test, above the level, and with k + 1 below it; w lies half-way between Hettmansperger and
    Sheather's weight, which is right for a peaked distribution and up to 0.6 points (more with two peaks) short for
    others, and the linear one, which is up to 2.8 points too wide. Half-way covers 95 to 97 % in all of them.
    """
    exceeding = 1 - confidence
    ways, inner_ways, k = 0, 1, 0  # of 2**n, in whole numbers: how often at most k (at most k - 1) values lie below
    term = 1
    while 2 * inner_ways / 2**n <= exceeding:
        k += 1
        term = term * (n - k + 1) // k
        ways, inner_ways = inner_ways, inner_ways + term
    if k == 0:
        return None
    wide, narrow = 1 - 2 * ways / 2**n, 1 - 2 * inner_ways / 2**n
    if n - k <= k:
        return k, 0.0
    linear = (wide - confidence) / (wide - narrow)
    peaked = (n - k) * linear / (k + (n - 2 * k) * linear)
    return k, (linear + peaked) / 2


def order_ends(ordered_low: Array, ordered_high: Array, confidence: float) -> Array:
    """Ends of the interval from rows sorted by lower and by upper bound (the same rows where values are exact)."""
    n = ordered_low.shape[1]
    weights = order_weights(n, confidence)
    if weights is None:
        return np.stack([ordered_low[:, 0], ordered_high[:, -1]], axis=1)
    k, w = weights
    low = _between(ordered_low[:, k - 1], ordered_low[:, k], w)
    high = _between(ordered_high[:, n - k], ordered_high[:, n - k - 1], w)
    return np.stack([low, high], axis=1)


def _between(outer: Array, inner: Array, w: float) -> Array:
    # an infinite outer value stays infinite; written so that equal values give exactly themselves
    with np.errstate(invalid="ignore"):
        mixed = outer + w * (inner - outer)
    return np.where(np.isinf(outer), outer, mixed)


def _bca(ordered: Array, confidence: float) -> Array:
    n = ordered.shape[1]
    lower_ranks, upper_ranks, weights = _resampled_medians(n)
    values = (ordered[:, lower_ranks] + ordered[:, upper_ranks]) / 2
    places = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, places, axis=1)
    chances = weights[places]
    cumulative = np.cumsum(chances, axis=1)
    estimate = np.median(ordered, axis=1)[:, None]
    below = np.where(values < estimate, chances, 0).sum(axis=1)
    equal = np.where(values == estimate, chances, 0).sum(axis=1)
    normal = NormalDist()
    acceleration = _acceleration(ordered)
    result = np.empty((len(ordered), 2))
    for row, (share, a) in enumerate(zip(below + equal / 2, acceleration, strict=True)):
        z0 = normal.inv_cdf(min(max(float(share), 1e-9), 1 - 1e-9))
        for side, level in enumerate(((1 - confidence) / 2, (1 + confidence) / 2)):
            z = z0 + normal.inv_cdf(level)
            adjusted = normal.cdf(z0 + z / (1 - float(a) * z))
            place = int(np.searchsorted(cumulative[row], adjusted))
            result[row, side] = values[row, min(place, values.shape[1] - 1)]
    return result


@lru_cache(maxsize=256)
def _resampled_medians(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Which two ranks (from 0) the median of a resample lies between, and how likely: the ideal bootstrap."""
    from scipy.special import betainc  # noqa: PLC0415 - takes long to import; only this method needs it

    share = np.arange(n + 1) / n
    if n % 2:
        need = n // 2 + 1
        # the incomplete beta function is P(binomial >= need)
        chance = np.diff(np.asarray(betainc(need, n - need + 1, share), dtype=float))
        kept = np.flatnonzero(chance > _NEGLIGIBLE)
        return kept, kept, chance[kept]
    m = n // 2
    # m draws at or below rank i and the others above rank j: then the middle two lie astride
    log_ways = math.lgamma(n + 1) - 2 * math.lgamma(m + 1)
    with np.errstate(divide="ignore"):
        log_share = np.log(share)
    exponent = log_ways + m * (log_share[:, None] + log_share[::-1][None, :])
    astride = np.exp(np.where(np.tri(n + 1, k=-1, dtype=bool), -np.inf, exponent))  # only i <= j has a meaning
    both = astride[1:, :-1] - astride[:-1, :-1] - astride[1:, 1:] + astride[:-1, 1:]
    both = np.triu(both, 1)
    lower = np.diff(np.asarray(betainc(m, n - m + 1, share), dtype=float))
    np.fill_diagonal(both, np.clip(lower - both.sum(axis=1), 0, None))
    lower_ranks, upper_ranks = np.nonzero(both > _NEGLIGIBLE)
    return lower_ranks, upper_ranks, both[lower_ranks, upper_ranks]


def _acceleration(ordered: Array) -> Array:
    """Efron's a from the jackknife; leaving one out, a median takes three values at most. 0 where all are equal."""
    n = ordered.shape[1]
    m = n // 2
    if n % 2:
        kinds = [(ordered[:, m] + ordered[:, m + 1]) / 2, (ordered[:, m - 1] + ordered[:, m + 1]) / 2]
        kinds.append((ordered[:, m - 1] + ordered[:, m]) / 2)
        left_out = np.stack(kinds, axis=1)
        times = np.array([m, 1, m], dtype=float)
    else:
        left_out = np.stack([ordered[:, m], ordered[:, m - 1]], axis=1)
        times = np.array([m, m], dtype=float)
    deviation = (left_out * times).sum(axis=1, keepdims=True) / n - left_out
    squares = (times * deviation**2).sum(axis=1)
    cubes = (times * deviation**3).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squares > 0, cubes / (6 * squares**1.5), 0.0)

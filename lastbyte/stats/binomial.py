"""The binomial distribution. Tails and quantiles without SciPy: judging a trial must not cost its import."""

from __future__ import annotations

import math
from collections.abc import Iterator


def at_most(count: int, n: int, probability: float) -> float:
    """P(X <= count) for X ~ Binomial(n, probability)."""
    if count < 0:
        return 0.0
    if count >= n or probability <= 0:
        return 1.0
    if probability >= 1:
        return 0.0
    total = 0.0
    for k, mass in enumerate(_masses(n, probability)):
        total += mass
        if k == count:
            break
    return min(1.0, total)


def quantile(level: float, n: int, probability: float) -> int:
    """The smallest k with P(X <= k) >= level."""
    if probability <= 0 or n <= 0:
        return 0
    if probability >= 1:
        return n
    total = 0.0
    for k, mass in enumerate(_masses(n, probability)):
        total += mass
        if total >= level:
            return k
    return n


def interval_pct(count: float, n: float, confidence: float) -> tuple[float, float]:
    """Exact interval of a share (Clopper and Pearson 1934), in percent. Imports SciPy, which takes half a second."""
    from scipy.special import betaincinv  # noqa: PLC0415

    if n == 0:
        return 0.0, 100.0
    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1 - tail))
    return 100 * low, 100 * high


def _masses(n: int, probability: float) -> Iterator[float]:
    """P(X = 0), P(X = 1), ...; in logarithms, since (1 - p)^n underflows for long transfers."""
    log_p, log_q = math.log(probability), math.log1p(-probability)
    log_all = math.lgamma(n + 1)
    for k in range(n + 1):
        yield math.exp(log_all - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log_p + (n - k) * log_q)

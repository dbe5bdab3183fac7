"""Has a client become slower from one campaign to another? Two samples that are not paired, for use in CI.

How much slower is the Hodges-Lehmann estimate on logarithms: the median of all ratios candidate/baseline (Hodges and
Lehmann 1963, "Estimates of location based on rank tests"), with the interval that inverts the Mann-Whitney test. It
assumes no distribution and holds its level from few values on, where a bootstrap of medians does not (docs/adr/0010).

Failing takes a test of its own, so that many cells do not fail by chance: Mann-Whitney, one-sided, of the candidate
against the baseline times (1 + tolerance), and Fisher's exact test of the failures; p values are corrected over all
items (Holm 1979, "A simple sequentially rejective multiple test procedure").
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lastbyte.stats.intervals import Array
from lastbyte.stats.paired import percent

EXACT_UP_TO = 400
"""Product of the sizes up to which the Mann-Whitney distribution is counted out; beyond, it is as good as normal."""

FAILURE_SLACK = 0.05
"""A pass needs the candidate's failure rate to be no more than this above the baseline's."""

ALPHA = 0.05


class Judgement(enum.StrEnum):
    """What a comparison of campaigns says."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Sample:
    """The counted trials of one arm of a cell."""

    ttlb_s: tuple[float, ...]
    """Of the successful ones, in seconds."""
    timed_out: int = 0
    """Those that timed out: longer than every time."""
    failures: int = 0
    """All that failed, the timed out ones too."""

    @property
    def n(self) -> int:
        """Trials."""
        return len(self.ttlb_s) + self.failures


@dataclass(frozen=True, slots=True)
class Shift:
    """By how much the candidate is slower (above zero) or faster."""

    diff_pct: float | None
    """Median of all ratios as a percentage; None without a success on a side."""
    ci_low_pct: float | None
    ci_high_pct: float | None
    """Ends of the interval; None where the sizes allow none of that level."""
    confidence: float


@dataclass(frozen=True, slots=True)
class Item:
    """One arm of one cell in both campaigns, judged."""

    shift: Shift
    p_slower: float | None
    """One-sided, corrected over all items: the candidate is slower by more than the tolerance."""
    p_failures: float | None
    """One-sided, corrected over all items: the candidate fails more often."""
    judgement: Judgement
    reason: str


def shift(baseline_s: Sequence[float], candidate_s: Sequence[float], confidence: float = 0.95) -> Shift:
    """Compare times in seconds, above zero. The same input gives the same interval."""
    if not len(baseline_s) or not len(candidate_s):
        return Shift(None, None, None, confidence)
    ratios = np.sort(np.subtract.outer(np.log(candidate_s), np.log(baseline_s)).ravel())
    rank = _rank(len(baseline_s), len(candidate_s), (1 - confidence) / 2)
    middle_pct = percent(float(np.median(ratios)))
    if not rank:
        return Shift(middle_pct, None, None, confidence)
    return Shift(middle_pct, percent(float(ratios[rank - 1])), percent(float(ratios[-rank])), confidence)


def judge(
    pairs: Sequence[tuple[Sample, Sample]], tolerance_pct: float, confidence: float = 0.95, alpha: float = ALPHA
) -> list[Item]:
    """Judge (baseline, candidate) of every arm and cell; slower by up to ``tolerance_pct`` is no fault."""
    slower = holm([slower_p(one, two, tolerance_pct) for one, two in pairs])
    failing = holm([more_failures_p(one, two) for one, two in pairs])
    return [
        _item(one, two, tolerance_pct, shift(one.ttlb_s, two.ttlb_s, confidence), p_slow, p_fail, alpha)
        for (one, two), p_slow, p_fail in zip(pairs, slower, failing, strict=True)
    ]


def overall(judgements: Sequence[Judgement]) -> Judgement:
    """Fail if one fails, pass if there are some and all pass."""
    if Judgement.FAIL in judgements:
        return Judgement.FAIL
    return Judgement.PASS if judgements and set(judgements) == {Judgement.PASS} else Judgement.INCONCLUSIVE


def slower_p(baseline: Sample, candidate: Sample, tolerance_pct: float = 0.0) -> float | None:
    """p that the candidate is no slower than the baseline times (1 + tolerance): Mann-Whitney, one-sided.

    A time-out ranks above every time. None without a trial on a side.
    """
    one = np.concatenate([np.asarray(baseline.ttlb_s) * (1 + tolerance_pct / 100), np.full(baseline.timed_out, np.inf)])
    two = np.concatenate([np.asarray(candidate.ttlb_s), np.full(candidate.timed_out, np.inf)])
    if not one.size or not two.size:
        return None
    above = (two[:, None] > one[None, :]).sum() + 0.5 * (two[:, None] == one[None, :]).sum()
    values = np.concatenate([one, two])
    ties = np.asarray(np.unique(values, return_counts=True)[1], dtype=float)
    if one.size * two.size <= EXACT_UP_TO and ties.max() == 1:
        counts = _mann_whitney(int(one.size), int(two.size))
        return float(counts[int(above) :].sum() / counts.sum())
    return _normal_p(float(above), int(one.size), int(two.size), ties)


def more_failures_p(baseline: Sample, candidate: Sample) -> float | None:
    """p that the candidate fails no more often: Fisher's exact test, one-sided. None without a trial on a side."""
    if not baseline.n or not candidate.n:
        return None
    failed = baseline.failures + candidate.failures
    total = math.comb(baseline.n + candidate.n, failed)
    most = min(failed, candidate.n)
    as_many = sum(
        math.comb(candidate.n, k) * math.comb(baseline.n, failed - k) for k in range(candidate.failures, most + 1)
    )
    return as_many / total


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p values corrected so that one false alarm among all has at most the level's chance; None stays None."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        corrected[place] = largest
    return corrected


def _item(
    baseline: Sample,
    candidate: Sample,
    tolerance_pct: float,
    found: Shift,
    p_slower: float | None,
    p_failures: float | None,
    alpha: float,
) -> Item:
    def item(judgement: Judgement, reason: str) -> Item:
        return Item(found, p_slower, p_failures, judgement, reason)

    if p_failures is not None and p_failures < alpha:
        return item(Judgement.FAIL, f"{candidate.failures} of {candidate.n} failed, {baseline.failures} before.")
    if p_slower is not None and p_slower < alpha:
        return item(Judgement.FAIL, f"Slower by more than {tolerance_pct:g} %.")
    if found.ci_high_pct is None:
        return item(Judgement.INCONCLUSIVE, "Too few successful trials for an interval.")
    if candidate.failures / candidate.n > baseline.failures / baseline.n + FAILURE_SLACK:
        return item(Judgement.INCONCLUSIVE, "More trials failed than before, too few to be sure.")
    if found.ci_high_pct <= tolerance_pct:
        return item(Judgement.PASS, f"Not slower by more than {tolerance_pct:g} %.")
    return item(Judgement.INCONCLUSIVE, f"The interval reaches beyond {tolerance_pct:g} %.")


def _rank(n: int, m: int, tail: float) -> int:
    """Rank of the interval's lower end among all n x m differences, from 1; 0: there is none."""
    if n * m <= EXACT_UP_TO:
        below = np.cumsum(_mann_whitney(n, m)) / math.comb(n + m, n)
        return int(np.searchsorted(below, tail, side="right"))
    from statistics import NormalDist  # noqa: PLC0415 - beside its only use

    width = NormalDist().inv_cdf(1 - tail) * math.sqrt(n * m * (n + m + 1) / 12)
    return max(0, math.floor(n * m / 2 - width))


@lru_cache(maxsize=512)
def _mann_whitney(n: int, m: int) -> Array:
    """Number of orders of n and m values that give each U from 0 to n x m: the Gaussian binomial coefficient."""
    counts = np.zeros(n * m + 1)
    counts[0] = 1
    for k in range(1, n + 1):
        for u in range(n * m, m + k - 1, -1):  # times (1 - q^(m + k))
            counts[u] -= counts[u - m - k]
        for u in range(k, n * m + 1):  # divided by (1 - q^k)
            counts[u] += counts[u - k]
    return counts


def _normal_p(above: float, n: int, m: int, ties: Array) -> float:
    size = n + m
    variance = n * m / 12 * (size + 1 - float((ties**3 - ties).sum()) / (size * (size - 1)))
    if variance <= 0:
        return 1.0
    z = (above - n * m / 2 - 0.5) / math.sqrt(variance)
    return 0.5 * math.erfc(z / math.sqrt(2))

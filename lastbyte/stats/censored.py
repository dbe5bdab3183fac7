"""Pairs in which an arm timed out: not a missing value but a time known to be at least the limit.

If only the candidate timed out, the log-ratio is at least ln(limit / baseline); if only the baseline did, at most
ln(candidate / limit); if both did, it may be anything. Each pair is thus an interval, and the median of all pairs lies
between the median of the lower bounds and that of the upper bounds, whatever the missing values are (Manski 2003,
"Partial Identification of Probability Distributions", chapter 1: quantiles respect stochastic dominance). Those two
agree, and the median is known exactly, while fewer than half of the pairs are censored to one side and none of the
bounds reaches across the median; otherwise a bound is all that can be said.

The confidence interval takes its lower end from the lower bounds and its upper end from the upper bounds, as the sign
test does for censored survival times (Brookmeyer and Crowley 1982, "A confidence interval for the median survival
time", Biometrics 38). Unlike Kaplan-Meier that needs no assumption on why trials time out, and the price is a wider
interval. Dropping such pairs instead would favour the arm that times out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lastbyte.stats.intervals import SMALLEST_N, Array, attained, order_ends
from lastbyte.stats.paired import EQUIVALENCE_PCT, Comparison, Verdict, log_ratios, percent, verdict_of


def compare_censored(
    baseline_s: Sequence[float],
    candidate_s: Sequence[float],
    baseline_timed_out: Sequence[bool],
    candidate_timed_out: Sequence[bool],
    equivalence_pct: float = EQUIVALENCE_PCT,
    confidence: float = 0.95,
) -> Comparison:
    """Compare two arms of which trials may have timed out; all of shape (n,), pair by pair.

    A time is the TTLB in seconds, or, where ``..._timed_out`` is true, the limit at which the trial was given up.
    Ends of the interval that time-outs leave open are None; so is ``diff_pct`` where the median is, and then
    ``at_least_pct`` and ``at_most_pct`` say what is known. Without time-outs this is `paired.compare`.
    Raises ValueError for unequal lengths or impossible times.
    """
    low, high = ratio_bounds(baseline_s, candidate_s, baseline_timed_out, candidate_timed_out)
    n = int(low.size)
    level = attained(n, confidence)
    timed_out = int((low != high).sum())
    if n == 0:
        return Comparison(0, None, None, None, Verdict.NO_DATA, level)
    median_low, median_high = float(np.median(low)), float(np.median(high))
    known = median_low == median_high
    ends = order_ends(np.sort(low)[None, :], np.sort(high)[None, :], confidence)[0]
    low_pct, high_pct = percent(float(ends[0])), percent(float(ends[1]))
    verdict = Verdict.INCONCLUSIVE if n < SMALLEST_N else verdict_of(n, low_pct, high_pct, equivalence_pct)
    # -100 % is what the logarithm's -infinity becomes: a ratio known only to be above zero, which says nothing
    return Comparison(
        n=n,
        diff_pct=percent(median_low) if known else None,
        ci_low_pct=low_pct if n > 1 and math.isfinite(ends[0]) else None,
        ci_high_pct=high_pct if n > 1 and math.isfinite(ends[1]) else None,
        verdict=verdict,
        confidence=level,
        timed_out=timed_out,
        at_least_pct=percent(median_low) if not known and math.isfinite(median_low) else None,
        at_most_pct=percent(median_high) if not known and math.isfinite(median_high) else None,
    )


def ratio_bounds(
    baseline_s: Sequence[float],
    candidate_s: Sequence[float],
    baseline_timed_out: Sequence[bool],
    candidate_timed_out: Sequence[bool],
) -> tuple[Array, Array]:
    """Lower and upper bound of each pair's log-ratio, both shape (n,), infinite where there is none."""
    ratios = log_ratios(baseline_s, candidate_s)
    baseline_out = np.asarray(baseline_timed_out, dtype=bool)
    candidate_out = np.asarray(candidate_timed_out, dtype=bool)
    if not ratios.shape == baseline_out.shape == candidate_out.shape:
        msg = f"one flag per time is needed, got {baseline_out.shape} and {candidate_out.shape} for {ratios.shape}"
        raise ValueError(msg)
    return np.where(baseline_out, -np.inf, ratios), np.where(candidate_out, np.inf, ratios)


def paired_or_timed_out(
    baseline: dict[int, tuple[float, bool]], candidate: dict[int, tuple[float, bool]]
) -> tuple[list[float], list[float], list[bool], list[bool]]:
    """Arguments of `compare_censored` from rounds to (seconds or limit, timed out); rounds that both arms have.

    A trial that failed in another way than by time-out has no time at all: leave its round out, and state the failure
    rate beside the result.
    """
    common = sorted(baseline.keys() & candidate.keys())
    return (
        [baseline[r][0] for r in common],
        [candidate[r][0] for r in common],
        [baseline[r][1] for r in common],
        [candidate[r][1] for r in common],
    )

"""Tests beside the estimate: a p value per cell, one for spread, and both corrected over the grid.

A p value says how surprising the rounds would be if there were no difference; it never says how large a difference is,
and "not significant" is never shown as zero. The verdict of a cell rests on its interval, not on these.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from lastbyte.stats.censored import ratio_bounds
from lastbyte.stats.intervals import SMALLEST_N, Array
from lastbyte.stats.paired import log_ratios


def wilcoxon_p(baseline_s: Sequence[float], candidate_s: Sequence[float]) -> float | None:
    """Two-sided p of the Wilcoxon signed-rank test on the log-ratios of paired times in seconds; None below six pairs.

    Wilcoxon 1945, with Pratt's treatment of zeros (1959); exact to 50 pairs where there are no ties (SciPy). It tests
    whether log-ratios are symmetric about zero, so a skewed sample can have a small p while its median is zero.
    """
    ratios = log_ratios(baseline_s, candidate_s)
    return _signed_rank_p(ratios) if ratios.size >= SMALLEST_N else None


def wilcoxon_cells(cells: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[float | None]:
    """`wilcoxon_p` for a whole grid, to the same digit; cells of one length without ties go through SciPy together."""
    ratios = [log_ratios(baseline_s, candidate_s) for baseline_s, candidate_s in cells]
    together: dict[int, list[int]] = defaultdict(list)
    found: list[float | None] = [None] * len(ratios)
    for place, sample in enumerate(ratios):
        if sample.size < SMALLEST_N:
            continue
        sizes = np.abs(np.round(sample, 12))
        # SciPy judges ties and zeros by the whole block: a cell with any would change the others' method
        if sizes.all() and len(np.unique(sizes)) == sample.size:
            together[sample.size].append(place)
        else:
            found[place] = _signed_rank_p(sample)
    for places in together.values():
        for place, p in zip(places, _signed_rank_ps(np.stack([ratios[i] for i in places])), strict=True):
            found[place] = float(p)
    return found


def wilcoxon_censored_p(
    baseline_s: Sequence[float],
    candidate_s: Sequence[float],
    baseline_timed_out: Sequence[bool],
    candidate_timed_out: Sequence[bool],
) -> float | None:
    """The largest p of `wilcoxon_p` that the rounds allow, arguments as those of `censored.compare_censored`.

    The sum of signed ranks never falls when one ratio rises (it is the sum of the signs of all pairwise sums, Tukey
    1949), so it lies between that of the lower and that of the upper bounds. If those disagree about the sign, p may be
    1; else it is that of the bounds nearer to no difference. Leaving such rounds out would favour who times out.
    """
    low, high = ratio_bounds(baseline_s, candidate_s, baseline_timed_out, candidate_timed_out)
    if low.size < SMALLEST_N:
        return None
    low, high = _beyond_all(low), _beyond_all(high)
    if _signed_ranks(low) > 0:
        return _signed_rank_p(low)
    if _signed_ranks(high) < 0:
        return _signed_rank_p(high)
    return 1.0


def spread_p(first_s: Sequence[float], second_s: Sequence[float]) -> float | None:
    """Two-sided p of the Kolmogorov-Smirnov test for another spread or shape; None below six values on a side.

    Times in seconds, above zero, need not be paired. Each arm is divided by its own median first: two arms can have the
    same median and be unlike (one steady, one that stalls now and then), and that is the question here; without
    centring, the test would find the difference of medians again, which the estimate already tells. Since the medians
    come from the data the test errs on the safe side (fewer false alarms than its level), as it does when the rounds of
    the arms move together. Differences are relative: an arm twice as slow with twice the deviation has the same spread.
    """
    if min(len(first_s), len(second_s)) < SMALLEST_N:
        return None
    from scipy import stats as scipy_stats  # noqa: PLC0415 - as above

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the exact p can't be computed, SciPy takes the asymptotic one
        return float(scipy_stats.ks_2samp(_centred(first_s), _centred(second_s)).pvalue)


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p values (q) of a grid; None stays None and counts as no test.

    Calling every cell with q <= 0.05 a finding keeps the expected share of false ones among them at 5 % (Benjamini and
    Hochberg 1995, "Controlling the false discovery rate", JRSS B 57). It is not the chance that a cell is wrong.
    """
    places = [i for i, p in enumerate(p_values) if p is not None]
    tested = np.array([p for p in p_values if p is not None], dtype=float)
    if tested.size and not ((tested >= 0) & (tested <= 1)).all():
        raise ValueError("p values lie between 0 and 1")
    order = np.argsort(tested)[::-1]
    ranks = np.arange(tested.size, 0, -1)
    adjusted = np.empty_like(tested)
    adjusted[order] = np.minimum(np.minimum.accumulate(tested[order] * tested.size / ranks), 1.0)
    result: list[float | None] = [None] * len(p_values)
    for place, q in zip(places, adjusted, strict=True):
        result[place] = float(q)
    return result


def _signed_rank_p(ratios: Array) -> float:
    return float(_signed_rank_ps(ratios[None, :])[0]) if ratios.any() else 1.0


def _signed_rank_ps(ratios: Array) -> Array:
    """From shape (cells, n) to shape (cells,)."""
    from scipy import stats as scipy_stats  # noqa: PLC0415 - takes a second to import, and most commands need none of it

    # ratios of equal pairs differ in the last bit: ranks of such ties would be decided by rounding
    rounded = np.round(ratios, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on ties, where SciPy takes the normal approximation
        return np.asarray(scipy_stats.wilcoxon(rounded, zero_method="pratt", axis=1).pvalue, dtype=float)


def _signed_ranks(ratios: Array) -> float:
    """Sum of ranks above zero less that below."""
    from scipy import stats as scipy_stats  # noqa: PLC0415 - as above

    rounded = np.round(ratios, 12)
    return float((np.sign(rounded) * scipy_stats.rankdata(np.abs(rounded))).sum())


def _beyond_all(bounds: Array) -> Array:
    """Infinite values, which are of one sign, made finite: farther from zero than all others, and no ties."""
    open_ended = np.isinf(bounds)
    reach = float(np.abs(bounds[~open_ended]).max(initial=0.0)) + 1
    return np.where(open_ended, np.sign(bounds) * (reach + np.cumsum(open_ended)), bounds)


def _centred(times_s: Sequence[float]) -> Array:
    times = np.asarray(times_s, dtype=float)
    if not (np.isfinite(times).all() and (times > 0).all()):
        raise ValueError("times must be finite and above zero")
    # rounded, so that values equal but for the last bit stay ties
    return np.asarray(np.round(times / np.median(times), 12), dtype=float)

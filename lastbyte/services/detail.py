"""What a square tells beside its difference: p values, percentiles, phases.

Computed from the same trials as the difference, and kept by content: a live heatmap is asked for every second or two,
and most of its squares have not changed since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lastbyte.stats.censored import paired_or_timed_out
from lastbyte.stats.percentiles import Percentile, percentiles
from lastbyte.stats.phases import Decomposition, PhaseTimes, decompose
from lastbyte.stats.significance import spread_p, wilcoxon_cells, wilcoxon_censored_p

_KEPT = 4096

_FAR = 1e6
"""Times its arm's median: beyond every time there is."""


@dataclass(frozen=True, slots=True)
class Arm:
    """The counted trials of one arm of a cell that are in tolerance; hashable, since results are kept by it."""

    ttlb_s: tuple[float, ...]
    """Of the successful ones, in seconds, by round."""
    limits_s: tuple[float, ...] = ()
    """Limits at which the others timed out."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rounds in which each arm succeeded or timed out; items as the arguments of `compare_censored`."""

    baseline_s: tuple[float, ...]
    candidate_s: tuple[float, ...]
    baseline_timed_out: tuple[bool, ...]
    candidate_timed_out: tuple[bool, ...]

    @property
    def timed_out(self) -> bool:
        """Whether any trial did."""
        return any(self.baseline_timed_out) or any(self.candidate_timed_out)

    @property
    def nobody_came_through(self) -> bool:
        """Whether all trials timed out, of both arms: there is nothing to compare."""
        return all(self.baseline_timed_out) and all(self.candidate_timed_out)


def pairs_of(baseline: Mapping[int, tuple[float, bool]], candidate: Mapping[int, tuple[float, bool]]) -> Pairs:
    """From rounds to (seconds or limit, timed out), for the rounds that both arms have."""
    one, two, one_out, two_out = paired_or_timed_out(dict(baseline), dict(candidate))
    return Pairs(tuple(one), tuple(two), tuple(one_out), tuple(two_out))


def arm_of(times: Mapping[int, tuple[float, bool]]) -> Arm:
    """From rounds to (seconds or limit, timed out)."""
    ordered = [times[number] for number in sorted(times)]
    return Arm(
        tuple(time_s for time_s, timed_out in ordered if not timed_out),
        tuple(time_s for time_s, timed_out in ordered if timed_out),
    )


_known_p: dict[Pairs, float | None] = {}


def difference_p(pairs: Pairs) -> float | None:
    """p of the Wilcoxon signed-rank test; with time-outs the largest that they allow.

    None below six pairs, and where no trial came through.
    """
    return difference_ps([pairs])[0]


def difference_ps(cells: Sequence[Pairs]) -> list[float | None]:
    """`difference_p` of many cells; those that are new are tested together, which takes a tenth of the time."""
    if len(_known_p) > _KEPT:
        _known_p.clear()
    known = {pairs: _known_p.get(pairs) for pairs in cells}
    new = [pairs for pairs, p in known.items() if p is None and not pairs.timed_out]
    known.update([(pairs, _censored_p(pairs)) for pairs, p in known.items() if p is None and pairs.timed_out])
    known.update(zip(new, wilcoxon_cells([(pairs.baseline_s, pairs.candidate_s) for pairs in new]), strict=True))
    _known_p.update(known)
    return [known[pairs] for pairs in cells]


def _censored_p(pairs: Pairs) -> float | None:
    if pairs.nobody_came_through:
        return None
    return wilcoxon_censored_p(pairs.baseline_s, pairs.candidate_s, pairs.baseline_timed_out, pairs.candidate_timed_out)


@lru_cache(maxsize=_KEPT)
def arms_spread_p(baseline: Arm, candidate: Arm) -> float | None:
    """p of the Kolmogorov-Smirnov test for spread; a time-out is longer than every time of either arm.

    None below six trials on a side, and where so many timed out that the median of an arm is unknown.
    """
    samples = [_with_time_outs(arm) for arm in (baseline, candidate)]
    one, two = samples
    return None if one is None or two is None else spread_p(one, two)


@lru_cache(maxsize=_KEPT)
def arm_percentiles(arm: Arm, confidence: float = 0.95) -> tuple[Percentile, ...]:
    """p50, p90 and p99 of TTLB in seconds. Time-outs count as longer than every success; None where one is reached."""
    longest = max(arm.ttlb_s, default=0.0)
    beyond = max((longest, *arm.limits_s)) + 1
    found = percentiles([*arm.ttlb_s, *(beyond for _ in arm.limits_s)], confidence=confidence)
    return tuple(
        replace(
            item,
            value=_known(item.value, longest),
            ci_low=_known(item.ci_low, longest),
            ci_high=_known(item.ci_high, longest),
        )
        for item in found
    )


def phase_times(handshake_s: float | None, ttfb_s: float | None, ttlb_s: float) -> PhaseTimes | None:
    """The phases of a trial; None where its client does not report them all, or they are not in order."""
    if handshake_s is None or ttfb_s is None or not 0 <= handshake_s <= ttfb_s <= ttlb_s:
        return None
    return PhaseTimes.of_marks(handshake_s, ttfb_s, ttlb_s)


def paired_phases(
    baseline: Mapping[int, PhaseTimes], candidate: Mapping[int, PhaseTimes], confidence: float = 0.95
) -> Decomposition | None:
    """The difference phase by phase, over the rounds of which both arms have phases; None below two of them."""
    common = sorted(baseline.keys() & candidate.keys())
    return _decompose(tuple(baseline[n] for n in common), tuple(candidate[n] for n in common), confidence)


@lru_cache(maxsize=_KEPT)
def _decompose(
    baseline: tuple[PhaseTimes, ...], candidate: tuple[PhaseTimes, ...], confidence: float
) -> Decomposition | None:
    return decompose(baseline, candidate, confidence)


def forget() -> None:
    """Drop what is kept by content."""
    _known_p.clear()
    for kept in (arms_spread_p, arm_percentiles, _decompose):
        kept.cache_clear()


def _with_time_outs(arm: Arm) -> Sequence[float] | None:
    """The arm's times with each time-out as a time far beyond, the same number of medians away in every arm."""
    if not arm.limits_s:
        return arm.ttlb_s
    n = len(arm.ttlb_s) + len(arm.limits_s)
    if n // 2 >= len(arm.ttlb_s):  # the upper of the middle two timed out
        return None
    ordered = sorted(arm.ttlb_s)
    middle_s = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return [*arm.ttlb_s, *(middle_s * _FAR for _ in arm.limits_s)]


def _known(value: float | None, longest: float) -> float | None:
    return None if value is None or value > longest else value

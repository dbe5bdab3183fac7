"""One square of a heatmap from the counted trials of a cell: difference with interval, verdict and proof.

Only counted rounds in which both arms succeeded or timed out are paired, a time-out as a bound; the warm-up round never
counts. A cell whose link missed its requested round-trip time is ``unproven``: shown, but kept out of every comparison.
A trial during which link or machine were out of tolerance is left out of its cell's comparison, and the cell says how
many and why. Neither enters the correction of the p values over the heatmap (Benjamini-Hochberg).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import median

from lastbyte.domain.campaign import DEFAULT_EQUIVALENCE_PCT
from lastbyte.domain.ceiling import NEAR_CEILING
from lastbyte.domain.client import AA_SUFFIX
from lastbyte.domain.profile import Profile
from lastbyte.ports import CellProof, CellRecord, Outcome
from lastbyte.services import detail
from lastbyte.services.detail import (
    Arm,
    Pairs,
    arm_of,
    arm_percentiles,
    arms_spread_p,
    difference_p,
    paired_phases,
    pairs_of,
    phase_times,
)
from lastbyte.services.paper import paper_square
from lastbyte.services.stopping import counted_times, times_or_limits
from lastbyte.stats.censored import compare_censored
from lastbyte.stats.floor import Floor, noise_floor, with_floor
from lastbyte.stats.paired import Comparison, Verdict, compare, paired_rounds
from lastbyte.stats.papermodes import PaperCell
from lastbyte.stats.percentiles import Percentile
from lastbyte.stats.phases import Decomposition, PhaseTimes
from lastbyte.stats.significance import benjamini_hochberg
from lastbyte.stats.tolerance import cell_out_of_tolerance, labels_of


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm of a cell over the counted rounds."""

    n: int
    """Successful trials, those left out not counted."""
    failures: int
    median_ttlb_ms: float | None
    failure_kinds: Mapping[str, int]
    failure_rate: float | None = None
    """Failed trials among all, 0 to 1; None without trials."""
    timed_out: int = 0
    """Trials that enter ``percentiles`` as time-outs."""
    percentiles: tuple[Percentile, ...] = ()
    """p50, p90, p99 of TTLB in seconds; a time-out is longer than every success, and a percentile that reaches one is
    None."""


@dataclass(frozen=True, slots=True)
class Sameness:
    """What must be alike for arms to be comparable, as far as it is known."""

    bodies: Mapping[str, int]
    """Client -> different bodies among its successful trials."""
    bodies_differ: bool
    """The arms did not get the same bodies."""
    tls: Mapping[str, tuple[str, ...]]
    """Client -> what its handshakes agreed on, in a line each, most frequent first."""


@dataclass(frozen=True, slots=True)
class HeatmapCell:
    """One square."""

    cell: CellRecord
    n: int
    """Paired rounds."""
    diff_pct: float | None
    """Median of the paired log ratios as a percentage; negative: the candidate is faster. None without pairs, and where
    time-outs leave it open."""
    ci_low_pct: float | None
    ci_high_pct: float | None
    verdict: Verdict
    baseline: ArmSummary
    candidate: ArmSummary
    rtt_achieved_ms: float | None
    unproven_reason: str | None
    left_out: int = 0
    """Successful trials of the two arms that are kept out of the comparison."""
    left_out_reasons: Mapping[str, int] = field(default_factory=dict)
    """Why, in a word or two, with how many each; a trial may have several reasons."""
    aa_floor_pct: float | None = None
    """By how much a client seems to differ from itself here; None without an A/A arm or below six rounds."""
    aa_biased: bool = False
    """The client differs from itself: the interval of the A/A comparison leaves out zero."""
    below_floor: bool = False
    """The difference is no larger than the floor."""
    timed_out: int = 0
    """Pairs among ``n`` in which an arm timed out; its TTLB is known to be at least the limit."""
    at_least_pct: float | None = None
    """What is known of the difference where time-outs leave it open: it is no less than this ..."""
    at_most_pct: float | None = None
    """... or no more than this."""
    near_ceiling: tuple[str, ...] = ()
    """Arms whose rate is within a factor of two of what their client can do on this machine at all."""
    confidence: float = 0.95
    """The level that the interval can claim with ``n`` pairs."""
    p_value: float | None = None
    """Wilcoxon signed-rank; with time-outs the largest p that they allow. None below six pairs."""
    q_value: float | None = None
    """``p_value`` corrected over the heatmap (Benjamini-Hochberg); None where there is no p or the cell is unproven."""
    spread_p: float | None = None
    """Kolmogorov-Smirnov on the arms, each divided by its median: whether one varies more."""
    phases: Decomposition | None = None
    """Which phase explains the difference; None below two rounds of which both arms have phases."""
    sameness: Sameness = Sameness({}, bodies_differ=False, tls={})
    paper: PaperCell | None = None
    """The square of a paper mode; None in ours."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the cells of a campaign are judged."""

    equivalence_pct: float = DEFAULT_EQUIVALENCE_PCT
    confidence: float = 0.95
    """Nominal level of the intervals; higher where cells stop by themselves (``lastbyte.stats.sequential``)."""


DEFAULT_RULES = Rules()


def corrected(squares: Sequence[HeatmapCell]) -> list[HeatmapCell]:
    """The squares with q values over all that are not unproven (Benjamini-Hochberg)."""
    q_values = benjamini_hochberg([None if item.unproven_reason else item.p_value for item in squares])
    return [replace(item, q_value=q) for item, q in zip(squares, q_values, strict=True)]


def square(
    cell: CellRecord, outcomes: Sequence[Outcome], baseline: str, candidate: str, rules: Rules = DEFAULT_RULES
) -> HeatmapCell:
    """One square from the counted trials of its cell."""
    base, cand = ([o for o in outcomes if o.client_id == client_id] for client_id in (baseline, candidate))
    times = {baseline: times_or_limits(base, baseline), candidate: times_or_limits(cand, candidate)}
    arms = {client_id: arm_of(found) for client_id, found in times.items()}
    pairs = pairs_of(times[baseline], times[candidate])
    result = compared(pairs, rules)
    floor = _floor(outcomes, baseline, candidate, rules)
    if floor is not None and baseline != candidate:
        result = with_floor(result, floor)
    shown = base if baseline == candidate else [*base, *cand]
    reason = why_unproven(cell.proof, cell.profile) if shown else None
    return HeatmapCell(
        cell=cell,
        n=result.n,
        diff_pct=result.diff_pct,
        ci_low_pct=result.ci_low_pct,
        ci_high_pct=result.ci_high_pct,
        verdict=Verdict.UNPROVEN if reason else result.verdict,
        baseline=arm_summary(base, arms[baseline], rules.confidence),
        candidate=arm_summary(cand, arms[candidate], rules.confidence),
        rtt_achieved_ms=rtt_achieved_ms(cell.proof),
        unproven_reason=reason,
        left_out=sum(o.kind == "ok" and bool(o.unproven_reason) for o in shown),
        left_out_reasons=_left_out(shown),
        aa_floor_pct=floor.floor_pct if floor else None,
        aa_biased=floor.biased if floor else False,
        below_floor=result.below_floor,
        timed_out=result.timed_out,
        at_least_pct=result.at_least_pct,
        at_most_pct=result.at_most_pct,
        near_ceiling=tuple(_near_ceiling(cell.proof, shown)),
        confidence=result.confidence,
        p_value=difference_p(pairs),
        spread_p=arms_spread_p(arms[baseline], arms[candidate]),
        phases=paired_phases(_phases(base), _phases(cand), rules.confidence),
        sameness=sameness_of(shown),
    )


def sameness_of(outcomes: Sequence[Outcome]) -> Sameness:
    """Bodies and handshakes of the arms of a cell."""
    clients = list(dict.fromkeys(o.client_id for o in outcomes))
    bodies = {c: {o.body for o in outcomes if o.client_id == c and o.body and o.kind == "ok"} for c in clients}
    known = [found for found in bodies.values() if found]
    tls = {c: Counter(o.tls for o in outcomes if o.client_id == c and o.tls) for c in clients}
    return Sameness(
        bodies={client: len(found) for client, found in bodies.items()},
        bodies_differ=any(found != known[0] for found in known),
        tls={client: tuple(line for line, _ in found.most_common()) for client, found in tls.items()},
    )


def pairs_in(outcomes: Sequence[Outcome], baseline: str, candidate: str) -> Pairs:
    """The pairs of two arms in the counted trials of a cell."""
    return pairs_of(times_or_limits(outcomes, baseline), times_or_limits(outcomes, candidate))


def with_aa(*client_ids: str) -> set[str]:
    """The arms with those that may run them once more."""
    return {name for client_id in client_ids for name in (client_id, f"{client_id}{AA_SUFFIX}")}


def _floor(outcomes: Sequence[Outcome], baseline: str, candidate: str, rules: Rules) -> Floor | None:
    """The noise floor from the arm that ran twice; with both arms twice, the larger of the two."""
    floors = []
    for client_id in (baseline, candidate):
        pairs = paired_rounds(counted_times(outcomes, client_id), counted_times(outcomes, f"{client_id}{AA_SUFFIX}"))
        if pairs[0]:
            floors.append(_noise_floor(tuple(pairs[0]), tuple(pairs[1]), rules.confidence))
    return max(floors, key=lambda floor: -1.0 if floor.floor_pct is None else floor.floor_pct, default=None)


def _near_ceiling(proof: CellProof | None, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Arms whose median rate is within a factor of two of what their client can do on that machine at all."""
    ceilings = proof.machine.get("ceilings_mbit_s") if proof else None
    if not isinstance(ceilings, Mapping):
        return
    for client_id in dict.fromkeys(outcome.client_id for outcome in outcomes):
        ceiling = ceilings.get(client_id.removesuffix(AA_SUFFIX))
        rates = [
            o.body_bytes * 8e-6 / o.ttlb_s
            for o in outcomes
            if o.client_id == client_id and o.ttlb_s and o.body_bytes and not o.unproven_reason
        ]
        if isinstance(ceiling, int | float) and rates and median(rates) * NEAR_CEILING >= ceiling:
            yield client_id


def rtt_achieved_ms(proof: CellProof | None) -> float | None:
    """Median of the probes in milliseconds; None where none came back."""
    return median(proof.rtt.samples_ms) if proof and proof.rtt.samples_ms else None


def why_unproven(proof: CellProof | None, profile: Profile | None = None) -> str | None:
    """Why the link of a cell can't be believed (``lastbyte.stats.tolerance``); None when it can."""
    if proof is None:
        return "The link was not probed before the trials."
    rtt = proof.rtt
    return cell_out_of_tolerance(profile or Profile(""), rtt.requested_ms, rtt.samples_ms, rtt.lost, proof.link) or None


def _left_out(outcomes: Sequence[Outcome]) -> dict[str, int]:
    reasons = Counter(label for o in outcomes if o.kind == "ok" for label in labels_of(o.unproven_reason))
    return dict(reasons.most_common())


@lru_cache(maxsize=4096)
def compared(pairs: Pairs, rules: Rules) -> Comparison:
    """The difference of two arms, by the rules of their campaign."""
    # A live heatmap is asked for every second or two, and most of its squares have not changed since.
    if not pairs.timed_out:
        return compare(pairs.baseline_s, pairs.candidate_s, rules.equivalence_pct, rules.confidence)
    if pairs.nobody_came_through:
        return compare((), ())
    return compare_censored(
        pairs.baseline_s,
        pairs.candidate_s,
        pairs.baseline_timed_out,
        pairs.candidate_timed_out,
        rules.equivalence_pct,
        rules.confidence,
    )


@lru_cache(maxsize=4096)
def _noise_floor(first_s: tuple[float, ...], second_s: tuple[float, ...], confidence: float) -> Floor:
    return noise_floor(first_s, second_s, confidence)


def _phases(outcomes: Sequence[Outcome]) -> dict[int, PhaseTimes]:
    found = (
        (o.round_index, phase_times(o.handshake_s, o.ttfb_s, o.ttlb_s))
        for o in outcomes
        if o.ttlb_s and not o.unproven_reason
    )
    return {number: phases for number, phases in found if phases is not None}


def forget() -> None:
    """Drop what is kept by content, as after a restart."""
    for kept in (compared, _noise_floor, paper_square):
        kept.cache_clear()
    detail.forget()


def arm_summary(mine: Sequence[Outcome], arm: Arm, confidence: float) -> ArmSummary:
    """One arm of a cell from its counted trials."""
    times_s = [outcome.ttlb_s for outcome in mine if outcome.ttlb_s is not None and not outcome.unproven_reason]
    failures = Counter(outcome.kind for outcome in mine if outcome.kind != "ok")
    return ArmSummary(
        n=len(times_s),
        failures=failures.total(),
        median_ttlb_ms=median(times_s) * 1000 if times_s else None,
        failure_kinds=dict(sorted(failures.items())),
        failure_rate=failures.total() / len(mine) if mine else None,
        timed_out=len(arm.limits_s),
        percentiles=arm_percentiles(arm, confidence),
    )

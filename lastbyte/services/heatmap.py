"""A campaign's trials as squares of a heatmap: H3 against H2 per cell, with n, interval, verdict and proof.

Only counted rounds in which both arms succeeded or timed out are paired, a time-out as a bound; the warm-up round never
counts. A cell whose link missed its requested round-trip time is ``unproven``: shown, but kept out of every comparison.
A trial during which link or machine were out of tolerance is left out of its cell's comparison, and the cell says how
many and why. Neither enters the correction of the p values over the heatmap (Benjamini-Hochberg).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import median

from lastbyte.domain.campaign import DEFAULT_EQUIVALENCE_PCT, CampaignState
from lastbyte.domain.ceiling import NEAR_CEILING
from lastbyte.domain.client import AA_SUFFIX, Client, Protocol
from lastbyte.domain.endpoint import Origin, size_order
from lastbyte.domain.errors import InvalidInput, UnknownName
from lastbyte.domain.profile import Profile
from lastbyte.ports import CampaignRecord, CampaignStore, CellProof, CellRecord, Outcome, ResultStore
from lastbyte.services import detail
from lastbyte.services.detail import (
    Arm,
    Pairs,
    arm_of,
    arm_percentiles,
    arms_spread_p,
    difference_p,
    difference_ps,
    paired_phases,
    pairs_of,
    phase_times,
)
from lastbyte.services.paper import HeatmapMode, clients_of, mode_note, paper_square, samples_of
from lastbyte.services.stopping import confidence_of, counted_times, times_or_limits
from lastbyte.stats.censored import compare_censored
from lastbyte.stats.floor import Floor, noise_floor, with_floor
from lastbyte.stats.paired import Comparison, Verdict, compare, paired_rounds
from lastbyte.stats.papermodes import PaperCell
from lastbyte.stats.percentiles import Percentile
from lastbyte.stats.phases import Decomposition, PhaseTimes
from lastbyte.stats.significance import benjamini_hochberg
from lastbyte.stats.tolerance import cell_out_of_tolerance, labels_of

TESTBED_NOTE = "Testbed: local stand-in servers behind a shaped link, not the providers of the Internet."
PRODUCTION_NOTE = "Production: real servers on the Internet behind a shaped link."
MIXED_NOTE = "Testbed and production endpoints together; each provider says which it is."
IMPORTED_NOTE = "Imported: measured elsewhere, by other programs; nothing proves the link of these results."


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
    paper: PaperCell | None = None
    """The square of a paper mode; None in ours."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the cells of a campaign are judged."""

    equivalence_pct: float = DEFAULT_EQUIVALENCE_PCT
    confidence: float = 0.95
    """Nominal level of the intervals; higher where cells stop by themselves (``lastbyte.stats.sequential``)."""


DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True)
class ProviderMap:
    """The squares of one provider."""

    provider: str
    origin: Origin
    base_rtt_ms: float
    cells: tuple[HeatmapCell, ...]


@dataclass(frozen=True, slots=True)
class Heatmap:
    """All squares of a campaign for one pair of arms."""

    campaign_id: str
    state: CampaignState
    baseline: str
    candidate: str
    origin_note: str
    providers: tuple[ProviderMap, ...]
    mode: HeatmapMode = "lastbyte"
    mode_note: str | None = None
    """What must be said beside the squares of a paper mode."""


class Heatmaps:
    """Builds heatmaps from what is stored."""

    def __init__(self, campaigns: CampaignStore, results: ResultStore) -> None:
        self._campaigns = campaigns
        self._results = results

    def of(
        self,
        campaign_id: str,
        baseline: str | None = None,
        candidate: str | None = None,
        mode: HeatmapMode = "lastbyte",
    ) -> Heatmap:
        """The heatmap of ``candidate`` against ``baseline``; defaults: the first H3 against the first H2 arm.

        With a paper mode each cell has the paper's square too, from all clients of the campaign.
        Raises NotFound, and InvalidInput when an arm is not one of the campaign's or there is no default.
        """
        campaign = self._campaigns.get(campaign_id)
        arms = self._results.arms(campaign_id)
        base = _arm("baseline", baseline, Protocol.H2, arms)
        cand = _arm("candidate", candidate, Protocol.H3, arms)
        h2, h3 = clients_of(arms, Protocol.H2), clients_of(arms, Protocol.H3)
        needed = _with_aa(base, cand).union(h2 if mode != "lastbyte" else (), h3 if mode != "lastbyte" else ())
        cells = self._results.cells(campaign_id)
        by_cell: dict[int, list[Outcome]] = defaultdict(list)
        for outcome in self._results.outcomes(campaign_id, [arm.id for arm in arms if arm.id in needed]):
            by_cell[outcome.cell_id].append(outcome)
        spec = campaign.spec
        rules = Rules(spec.equivalence_pct, confidence_of(spec.stopping))
        # all p values at once, which the squares then find: one by one they take ten times as long
        difference_ps([_pairs(by_cell[cell.cell_id], base, cand) for cell in cells])
        squares = corrected([square(cell, by_cell[cell.cell_id], base, cand, rules) for cell in cells])
        if mode != "lastbyte":
            squares = [
                replace(item, paper=paper_square(mode, samples_of(outcomes, h2), samples_of(outcomes, h3)))
                for item, outcomes in ((item, by_cell[item.cell.cell_id]) for item in squares)
            ]
        return Heatmap(
            campaign_id=campaign.id,
            state=campaign.state,
            baseline=base,
            candidate=cand,
            origin_note=origin_note(campaign, cells),
            providers=_by_provider(squares),
            mode=mode,
            mode_note=None if mode == "lastbyte" else mode_note(mode, arms),
        )


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
    result = _compare(pairs, rules)
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
        baseline=_summary(base, arms[baseline], rules.confidence),
        candidate=_summary(cand, arms[candidate], rules.confidence),
        rtt_achieved_ms=median(cell.proof.rtt.samples_ms) if cell.proof and cell.proof.rtt.samples_ms else None,
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
    )


def _pairs(outcomes: Sequence[Outcome], baseline: str, candidate: str) -> Pairs:
    return pairs_of(times_or_limits(outcomes, baseline), times_or_limits(outcomes, candidate))


def _with_aa(*client_ids: str) -> set[str]:
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


def why_unproven(proof: CellProof | None, profile: Profile | None = None) -> str | None:
    """Why the link of a cell can't be believed (``lastbyte.stats.tolerance``); None when it can."""
    if proof is None:
        return "The link was not probed before the trials."
    rtt = proof.rtt
    return cell_out_of_tolerance(profile or Profile(""), rtt.requested_ms, rtt.samples_ms, rtt.lost) or None


def _left_out(outcomes: Sequence[Outcome]) -> dict[str, int]:
    reasons = Counter(label for o in outcomes if o.kind == "ok" for label in labels_of(o.unproven_reason))
    return dict(reasons.most_common())


@lru_cache(maxsize=4096)
def _compare(pairs: Pairs, rules: Rules) -> Comparison:
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
    for kept in (_compare, _noise_floor, paper_square):
        kept.cache_clear()
    detail.forget()


def _summary(mine: Sequence[Outcome], arm: Arm, confidence: float) -> ArmSummary:
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


def _arm(field: str, wanted: str | None, protocol: Protocol, arms: Sequence[Client]) -> str:
    known = [arm.id for arm in arms]
    if wanted is not None:
        if wanted not in known:
            raise UnknownName(field, "client of this campaign", wanted, known)
        return wanted
    for arm in arms:
        if arm.protocol is protocol:
            return arm.id
    listed = ", ".join(known)
    raise InvalidInput(field, f"the campaign has no {protocol} client.", f"Name one of its clients: {listed}.")


def _by_provider(squares: Sequence[HeatmapCell]) -> tuple[ProviderMap, ...]:
    groups: dict[tuple[str, Origin, float], list[HeatmapCell]] = defaultdict(list)
    for item in squares:
        endpoint = item.cell.endpoint
        groups[endpoint.provider, endpoint.origin, endpoint.base_rtt_ms].append(item)
    return tuple(
        ProviderMap(provider, origin, base_rtt_ms, tuple(sorted(items, key=lambda item: place_of(item.cell))))
        for (provider, origin, base_rtt_ms), items in groups.items()
    )


def place_of(cell: CellRecord) -> tuple[float, float, float, str]:
    """Sort key of a cell within its provider: small objects first, mild conditions before severe ones."""
    profile, endpoint = cell.profile, cell.endpoint
    return (size_order(endpoint.size_label), profile.loss_pct, profile.extra_rtt_ms, endpoint.id)


def _is_foreign(source: object) -> bool:
    """Whether results were imported from files, be it by way of a capsule."""
    if not isinstance(source, Mapping):
        return False
    return source.get("kind") == "import" or _is_foreign(source.get("original"))


def origin_note(campaign: CampaignRecord, cells: Sequence[CellRecord]) -> str:
    """Where the results of a campaign come from."""
    if _is_foreign(campaign.source):
        return IMPORTED_NOTE
    origins = {cell.endpoint.origin for cell in cells}
    if origins == {Origin.TESTBED}:
        return TESTBED_NOTE
    return PRODUCTION_NOTE if origins == {Origin.PRODUCTION} else MIXED_NOTE

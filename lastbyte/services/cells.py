"""One cell in full: its comparison, each arm's distribution, and each round in the order in which it was run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.errors import InvalidInput, UnknownName
from lastbyte.ports import CampaignStore, CellReader, CellStatus, Outcome, ResultStore, TrialRecord
from lastbyte.services.detail import arm_of
from lastbyte.services.heatmap import pick_arm
from lastbyte.services.squares import ArmSummary, HeatmapCell, Rules, arm_summary, square
from lastbyte.services.stopping import confidence_of, times_or_limits
from lastbyte.stats.paired import log_ratios, percent


@dataclass(frozen=True, slots=True)
class ArmDetail:
    """One arm of the cell over the counted rounds."""

    client_id: str
    summary: ArmSummary
    ecdf: tuple[tuple[float, float], ...]
    """(TTLB in seconds, share of the counted trials that were done by then), times rising; a trial that timed out
    counts in the share and has no point, so where some did the last share is below 1."""


@dataclass(frozen=True, slots=True)
class RoundDetail:
    """One round, its trials in the order in which they ran."""

    index: int
    """0 is the warm-up round."""
    trials: tuple[TrialRecord, ...]
    diff_pct: float | None
    """Candidate against baseline in this round; None unless both succeeded and count."""


@dataclass(frozen=True, slots=True)
class CellDetail:
    """All that is known of a cell."""

    status: CellStatus
    seed: int
    baseline: str | None
    candidate: str | None
    comparison: HeatmapCell | None
    """The square of the heatmap; None where the campaign has no two clients to compare."""
    arms: tuple[ArmDetail, ...]
    rounds: tuple[RoundDetail, ...]


class CellDetails:
    """Builds the details of cells from what is stored."""

    def __init__(self, campaigns: CampaignStore, results: ResultStore, cells: CellReader) -> None:
        self._campaigns = campaigns
        self._results = results
        self._cells = cells

    def of(self, cell_id: int, baseline: str | None = None, candidate: str | None = None) -> CellDetail:
        """The cell, its two arms compared as in the heatmap.

        Raises NotFound, and InvalidInput when an arm is not one of the campaign's.
        """
        status = self._cells.cell(cell_id)
        spec = self._campaigns.get(status.campaign_id).spec
        arms = self._results.arms(status.campaign_id)
        base, cand = _pick("baseline", baseline, Protocol.H2, arms), _pick("candidate", candidate, Protocol.H3, arms)
        records = self._cells.trials(cell_id)
        outcomes = self._cells.outcomes(cell_id)
        rules = Rules(spec.equivalence_pct, confidence_of(spec.stopping))
        return CellDetail(
            status=status,
            seed=spec.seed,
            baseline=base,
            candidate=cand,
            comparison=square(status.record, outcomes, base, cand, rules) if base and cand else None,
            arms=tuple(_arm(arm.id, outcomes, rules.confidence) for arm in arms),
            rounds=_rounds(records, base, cand),
        )


def ecdf(times_s: Sequence[float], timed_out: int = 0) -> tuple[tuple[float, float], ...]:
    """Steps of the empirical distribution: each distinct time with the share of all that came no later."""
    ordered = sorted(times_s)
    n = len(ordered) + timed_out
    steps = {time_s: place / n for place, time_s in enumerate(ordered, start=1)}  # of equal times the last place stays
    return tuple(steps.items())


def _pick(field: str, wanted: str | None, protocol: Protocol, arms: Sequence[Client]) -> str | None:
    try:
        return pick_arm(field, wanted, protocol, arms)
    except UnknownName:
        raise
    except InvalidInput:  # no client of that protocol, and none was asked for
        return None


def _arm(client_id: str, outcomes: Sequence[Outcome], confidence: float) -> ArmDetail:
    mine = [outcome for outcome in outcomes if outcome.client_id == client_id]
    times = arm_of(times_or_limits(mine, client_id))
    return ArmDetail(client_id, arm_summary(mine, times, confidence), ecdf(times.ttlb_s, len(times.limits_s)))


def _rounds(records: Sequence[TrialRecord], baseline: str | None, candidate: str | None) -> tuple[RoundDetail, ...]:
    by_round: dict[int, list[TrialRecord]] = {}
    for record in records:
        by_round.setdefault(record.trial.round_index, []).append(record)
    return tuple(
        RoundDetail(
            index, tuple(sorted(trials, key=lambda r: r.trial.position)), _difference_pct(trials, baseline, candidate)
        )
        for index, trials in sorted(by_round.items())
    )


def _difference_pct(trials: Sequence[TrialRecord], baseline: str | None, candidate: str | None) -> float | None:
    times = {
        record.trial.client_id: record.trial.observation.timings.ttlb_s
        for record in trials
        if record.trial.observation.timings is not None and not record.trial.unproven_reason
    }
    base, cand = times.get(baseline or ""), times.get(candidate or "")
    if not base or not cand:
        return None
    return percent(float(log_ratios([base], [cand])[0]))

"""Two campaigns compared cell by cell and arm by arm: has something become slower? Made for CI."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from lastbyte.domain.client import is_aa
from lastbyte.domain.errors import InvalidInput
from lastbyte.ports import CampaignRecord, CampaignStore, Outcome, ResultStore
from lastbyte.services.detail import arm_of
from lastbyte.services.pool import PooledCell, pool_of
from lastbyte.services.stopping import times_or_limits
from lastbyte.stats.regression import Item, Judgement, Sample, Shift, judge, overall

Key = tuple[str, str, str]
"""Endpoint id, profile name, client id."""

NOTE = (
    "The two campaigns ran at different times: their difference holds whatever the network did in between, which no "
    "interval knows of. Choose a tolerance above what two runs of the same thing differ by."
)


@dataclass(frozen=True, slots=True)
class ComparedArm:
    """One client of one cell in both campaigns."""

    endpoint_id: str
    profile_name: str
    client_id: str
    baseline: Sample
    candidate: Sample
    item: Item


@dataclass(frozen=True, slots=True)
class CampaignComparison:
    """All of them, and what they say together."""

    baseline: CampaignRecord
    candidate: CampaignRecord
    tolerance_pct: float
    confidence: float
    judgement: Judgement
    arms: tuple[ComparedArm, ...]


class CampaignComparisons:
    """Builds comparisons from what is stored."""

    def __init__(self, campaigns: CampaignStore, results: ResultStore) -> None:
        self._campaigns = campaigns
        self._results = results

    def of(
        self, baseline_id: str, candidate_id: str, tolerance_pct: float, confidence: float = 0.95
    ) -> CampaignComparison:
        """Candidate against baseline. Raises NotFound, and InvalidInput when they have no cell in common."""
        base, base_samples = self._samples(baseline_id)
        cand, cand_samples = self._samples(candidate_id)
        if not base_samples.keys() & cand_samples.keys():
            raise InvalidInput(
                "candidate", "has no endpoint, profile and client in common with baseline.", "Rerun the baseline."
            )
        keys = list(dict.fromkeys((*base_samples, *cand_samples)))
        empty = Sample(())
        pairs = [(base_samples.get(key, empty), cand_samples.get(key, empty)) for key in keys]
        both = [key in base_samples and key in cand_samples for key in keys]
        items = iter(judge([pair for pair, there in zip(pairs, both, strict=True) if there], tolerance_pct, confidence))
        arms = tuple(
            ComparedArm(*key, *pair, next(items) if there else _alone(confidence, in_baseline=key in base_samples))
            for key, pair, there in zip(keys, pairs, both, strict=True)
        )
        judgement = overall([arm.item.judgement for arm in arms])
        return CampaignComparison(base, cand, tolerance_pct, confidence, judgement, arms)

    def _samples(self, campaign_id: str) -> tuple[CampaignRecord, dict[Key, Sample]]:
        pool = pool_of(self._campaigns, self._results, [campaign_id], None)
        clients = [arm.id for arm in pool.arms if not is_aa(arm.id)]
        found = {
            (cell.record.endpoint.id, cell.record.profile.name, client): sample
            for cell in pool.cells
            for client, sample in _by_client(cell, clients).items()
        }
        return pool.campaigns[0], found


def _by_client(cell: PooledCell, clients: list[str]) -> dict[str, Sample]:
    """The arms' samples; empty ones where the link can't be believed."""
    if cell.unproven_reason is not None:
        return dict.fromkeys(clients, Sample(()))
    by_client: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in cell.outcomes:
        by_client[outcome.client_id].append(outcome)
    return {client: _sample(by_client[client], client) for client in clients}


def _sample(outcomes: list[Outcome], client: str) -> Sample:
    times = arm_of(times_or_limits(outcomes, client))
    failures = sum(o.kind != "ok" and not o.unproven_reason for o in outcomes)
    return Sample(times.ttlb_s, len(times.limits_s), failures)


def _alone(confidence: float, *, in_baseline: bool) -> Item:
    where = "baseline" if in_baseline else "candidate"
    return Item(
        Shift(None, None, None, confidence), None, None, Judgement.INCONCLUSIVE, f"Only the {where} has this cell."
    )

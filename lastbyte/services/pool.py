"""Cells of several campaigns together: which campaigns are meant, and the trials of cells as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lastbyte.domain.campaign import MAX_ROUNDS
from lastbyte.domain.client import Client, is_aa
from lastbyte.domain.errors import InvalidInput
from lastbyte.ports import CampaignFilter, CampaignRecord, CampaignStore, CellRecord, Outcome, ResultStore
from lastbyte.services.squares import Rules, why_unproven
from lastbyte.services.stopping import confidence_of

MAX_CAMPAIGNS = 100
"""Pooled at once, at most."""

_APART = MAX_ROUNDS + 2
"""Rounds of the second cell of a pool are numbered from here, and so on: they are rounds of their own."""


@dataclass(frozen=True, slots=True)
class PooledCell:
    """A cell with the campaign that it is of, and its counted trials."""

    campaign: CampaignRecord
    record: CellRecord
    outcomes: tuple[Outcome, ...]

    @property
    def unproven_reason(self) -> str | None:
        """Why its link can't be believed; None when it can, and before it was measured."""
        return why_unproven(self.record.proof, self.record.profile) if self.outcomes else None


@dataclass(frozen=True, slots=True)
class Pool:
    """Cells of some campaigns."""

    campaigns: tuple[CampaignRecord, ...]
    """Oldest first."""
    arms: tuple[Client, ...]
    """Of all campaigns, each once, A/A arms left out."""
    cells: tuple[PooledCell, ...]

    @property
    def rules(self) -> Rules:
        """The strictest of the campaigns' own."""
        specs = [campaign.spec for campaign in self.campaigns]
        return Rules(min(spec.equivalence_pct for spec in specs), max(confidence_of(spec.stopping) for spec in specs))


def pool_of(campaigns: CampaignStore, results: ResultStore, ids: Sequence[str], which: CampaignFilter | None) -> Pool:
    """The campaigns named by ``ids``, else those that ``which`` finds.

    Raises NotFound, and InvalidInput when nothing was named, nothing was found or it is too much.
    """
    chosen = _chosen(campaigns, ids, which)
    arms: dict[str, Client] = {}
    cells: list[PooledCell] = []
    for campaign in chosen:
        mine = [arm for arm in results.arms(campaign.id) if not is_aa(arm.id)]
        arms.update((arm.id, arm) for arm in mine if arm.id not in arms)
        by_cell: dict[int, list[Outcome]] = defaultdict(list)
        for outcome in results.outcomes(campaign.id, [arm.id for arm in mine]):
            by_cell[outcome.cell_id].append(outcome)
        cells += [PooledCell(campaign, record, tuple(by_cell[record.cell_id])) for record in results.cells(campaign.id)]
    return Pool(tuple(chosen), tuple(arms.values()), tuple(cells))


def as_one(cells: Sequence[PooledCell]) -> tuple[CellRecord, list[Outcome]]:
    """A cell that stands for all, and the trials of those whose links can be believed, each round one of its own.

    Where none can be believed, the first cell with its trials, so that what is made of it says so.
    """
    believed = [cell for cell in cells if cell.outcomes and cell.unproven_reason is None]
    chosen = believed or [cell for cell in cells if cell.outcomes][:1]
    if not chosen:
        return cells[0].record, []
    outcomes = [
        replace(outcome, round_index=place * _APART + outcome.round_index)
        for place, cell in enumerate(chosen)
        for outcome in cell.outcomes
    ]
    return chosen[0].record, outcomes


def _chosen(campaigns: CampaignStore, ids: Sequence[str], which: CampaignFilter | None) -> list[CampaignRecord]:
    wanted = list(dict.fromkeys(ids))
    if wanted and which is not None:
        raise InvalidInput("campaign", "can't be combined with other filters.", "Name campaigns, or filter them.")
    if len(wanted) > MAX_CAMPAIGNS:
        raise InvalidInput("campaign", f"names {len(wanted)} campaigns.", f"Pool at most {MAX_CAMPAIGNS}.")
    if wanted:
        found = [campaigns.get(ident) for ident in wanted]
    elif which is not None:
        page = campaigns.page(which, MAX_CAMPAIGNS, None)
        if page.total > MAX_CAMPAIGNS:
            raise InvalidInput(
                "created_from", f"{page.total} campaigns fit.", f"Narrow the filter to at most {MAX_CAMPAIGNS}."
            )
        found = list(page.items)
    else:
        raise InvalidInput("campaign", "is missing.", "Name campaigns, or filter by label or time.")
    if not found:
        raise InvalidInput("label", "no campaign fits this filter.", "Widen the filter.")
    return sorted(found, key=lambda campaign: (campaign.created_at, campaign.id))

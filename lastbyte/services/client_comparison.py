"""The H3 clients of a campaign against each other, by the paper's definition: percent over the best of each cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lastbyte.domain.campaign import CampaignState
from lastbyte.domain.client import Protocol
from lastbyte.ports import CampaignStore, CellRecord, Outcome, ResultStore
from lastbyte.services.paper import clients_note, clients_of, paper_clients, samples_of
from lastbyte.services.places import ProviderMap, by_provider, origin_note
from lastbyte.services.squares import why_unproven
from lastbyte.stats.papermodes import CLIENT_LIMITS_PCT, ClientComparison, Mode


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """The H3 clients in one cell."""

    cell: CellRecord
    comparison: ClientComparison
    n: dict[str, int]
    """Successful trials per client, those left out not counted."""
    unproven_reason: str | None


@dataclass(frozen=True, slots=True)
class ClientsComparison:
    """All cells of a campaign."""

    campaign_id: str
    state: CampaignState
    mode: Mode
    mode_note: str
    origin_note: str
    clients: tuple[str, ...]
    limits_pct: tuple[float, float]
    """Ends of the white-to-red scale."""
    providers: tuple[ProviderMap[ComparedCell], ...]


class ClientsComparisons:
    """Builds comparisons of clients from what is stored."""

    def __init__(self, campaigns: CampaignStore, results: ResultStore) -> None:
        self._campaigns = campaigns
        self._results = results

    def of(self, campaign_id: str, mode: Mode) -> ClientsComparison:
        """The comparison by ``mode``; without H3 clients its cells are empty. Raises NotFound."""
        campaign = self._campaigns.get(campaign_id)
        clients = clients_of(self._results.arms(campaign_id), Protocol.H3)
        by_cell: dict[int, list[Outcome]] = defaultdict(list)
        for outcome in self._results.outcomes(campaign_id, clients):
            by_cell[outcome.cell_id].append(outcome)
        cells = self._results.cells(campaign_id)
        compared = [_compared(cell, by_cell[cell.cell_id], clients, mode) for cell in cells]
        return ClientsComparison(
            campaign_id=campaign.id,
            state=campaign.state,
            mode=mode,
            mode_note=clients_note(mode),
            origin_note=origin_note(campaign, cells),
            clients=tuple(clients),
            limits_pct=CLIENT_LIMITS_PCT,
            providers=by_provider(compared, lambda item: item.cell),
        )


def _compared(cell: CellRecord, outcomes: Sequence[Outcome], clients: Sequence[str], mode: Mode) -> ComparedCell:
    samples = samples_of(outcomes, clients)
    return ComparedCell(
        cell=cell,
        comparison=paper_clients(mode, samples),
        n={name: len(times) for name, times in samples},
        unproven_reason=why_unproven(cell.proof, cell.profile) if outcomes else None,
    )

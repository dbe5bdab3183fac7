"""The H3 clients of a campaign against each other: percent over the best of each cell.

By our own definition (the median over rounds of each client against the best one in the same round, with its interval)
or by those of the papers, beside whose numbers the paired interval stands as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from lastbyte.domain.campaign import CampaignState
from lastbyte.domain.client import Protocol
from lastbyte.ports import CampaignStore, CellRecord, Outcome, ResultStore
from lastbyte.services.detail import Pairs, difference_p
from lastbyte.services.paper import HeatmapMode, clients_note, clients_of, paper_clients, samples_of
from lastbyte.services.places import ProviderMap, by_provider, origin_note
from lastbyte.services.squares import Rules, compared, pairs_in, why_unproven
from lastbyte.services.stopping import confidence_of, times_or_limits
from lastbyte.stats.paired import Comparison
from lastbyte.stats.papermodes import CLIENT_LIMITS_PCT, NOTE_CLIENTS

NOTE_PAIRED = (
    "Each H3 client against the one with the lowest median of the cell, round by round: the median of the paired "
    "differences with its 95 % interval. A time-out counts as at least its limit."
)


@dataclass(frozen=True, slots=True)
class ComparedClient:
    """One client in one cell."""

    client: str
    n: int
    """Successful trials, those left out not counted."""
    value_pct: float | None
    """Percent over the best by the definition; None where time-outs leave it open."""
    shown_pct: float | None
    """The same, but 0 where yu2020's test has p >= 0.01."""
    p_value: float | None
    """Of Welch's t-test in yu2020, of the Wilcoxon signed-rank test in ours."""
    paired: Comparison | None
    """Against the best one in the same rounds; None for the best itself."""


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """The H3 clients in one cell."""

    cell: CellRecord
    best: str | None
    clients: tuple[ComparedClient, ...]
    """In the campaign's order; those without a success are left out."""
    unproven_reason: str | None


@dataclass(frozen=True, slots=True)
class ClientsComparison:
    """All cells of a campaign."""

    campaign_id: str
    state: CampaignState
    mode: HeatmapMode
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

    def of(self, campaign_id: str, mode: HeatmapMode) -> ClientsComparison:
        """The comparison by ``mode``; without H3 clients its cells are empty. Raises NotFound."""
        campaign = self._campaigns.get(campaign_id)
        clients = clients_of(self._results.arms(campaign_id), Protocol.H3)
        by_cell: dict[int, list[Outcome]] = defaultdict(list)
        for outcome in self._results.outcomes(campaign_id, clients):
            by_cell[outcome.cell_id].append(outcome)
        cells = self._results.cells(campaign_id)
        rules = Rules(campaign.spec.equivalence_pct, confidence_of(campaign.spec.stopping))
        found = [_compared(cell, by_cell[cell.cell_id], clients, mode, rules) for cell in cells]
        return ClientsComparison(
            campaign_id=campaign.id,
            state=campaign.state,
            mode=mode,
            mode_note=clients_note(mode) if mode != "lastbyte" else f"{NOTE_PAIRED} {NOTE_CLIENTS}",
            origin_note=origin_note(campaign, cells),
            clients=tuple(clients),
            limits_pct=CLIENT_LIMITS_PCT,
            providers=by_provider(found, lambda item: item.cell),
        )


def _compared(
    cell: CellRecord, outcomes: Sequence[Outcome], clients: Sequence[str], mode: HeatmapMode, rules: Rules
) -> ComparedCell:
    samples = samples_of(outcomes, clients)
    n = {name: len(times) for name, times in samples}
    if mode == "lastbyte":
        best = _lowest_median(outcomes, list(n))
        pairs = {name: pairs_in(outcomes, best, name) for name in n if best and name != best}
        found = [_by_rounds(name, n[name], pairs.get(name), rules) for name in n]
    else:
        paper = paper_clients(mode, samples)
        best = paper.best
        pairs = {c.client: pairs_in(outcomes, best, c.client) for c in paper.clients if best and c.client != best}
        found = [
            ComparedClient(
                c.client, n[c.client], c.value_pct, c.shown_pct, c.p_value, _paired(pairs.get(c.client), rules)
            )
            for c in paper.clients
        ]
    return ComparedCell(cell, best, tuple(found), why_unproven(cell.proof, cell.profile) if outcomes else None)


def _lowest_median(outcomes: Sequence[Outcome], names: Sequence[str]) -> str | None:
    """The client with the lowest median; a time-out is longer than every success."""
    medians = {
        name: median(inf if timed_out else time_s for time_s, timed_out in times_or_limits(outcomes, name).values())
        for name in names
    }
    return min(medians, key=lambda name: medians[name]) if medians else None


def _by_rounds(name: str, n: int, pairs: Pairs | None, rules: Rules) -> ComparedClient:
    paired = _paired(pairs, rules)
    value = paired.diff_pct if paired is not None else 0.0
    return ComparedClient(name, n, value, value, difference_p(pairs) if pairs else None, paired)


def _paired(pairs: Pairs | None, rules: Rules) -> Comparison | None:
    return compared(pairs, rules) if pairs is not None else None

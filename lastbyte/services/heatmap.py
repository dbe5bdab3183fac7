"""A campaign's trials as squares of a heatmap: H3 against H2 per cell (``lastbyte.services.squares``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lastbyte.domain.campaign import CampaignState
from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.errors import InvalidInput, UnknownName
from lastbyte.ports import CampaignStore, CellRecord, Outcome, ResultStore
from lastbyte.services.detail import difference_ps
from lastbyte.services.kept import KeptByCell
from lastbyte.services.paper import HeatmapMode, clients_of, mode_note, paper_square, samples_of
from lastbyte.services.places import ProviderMap, by_provider, origin_note
from lastbyte.services.squares import HeatmapCell, Rules, corrected, pairs_in, square, with_aa
from lastbyte.services.stopping import confidence_of


@dataclass(frozen=True, slots=True)
class Heatmap:
    """All squares of a campaign for one pair of arms."""

    campaign_id: str
    state: CampaignState
    baseline: str
    candidate: str
    origin_note: str
    providers: tuple[ProviderMap[HeatmapCell], ...]
    mode: HeatmapMode = "lastbyte"
    mode_note: str | None = None
    """What must be said beside the squares of a paper mode."""


class Heatmaps:
    """Builds heatmaps from what is stored."""

    def __init__(self, campaigns: CampaignStore, results: ResultStore) -> None:
        self._campaigns = campaigns
        self._results = results
        self._kept: KeptByCell[HeatmapCell] = KeptByCell()

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
        base = pick_arm("baseline", baseline, Protocol.H2, arms)
        cand = pick_arm("candidate", candidate, Protocol.H3, arms)
        h2, h3 = clients_of(arms, Protocol.H2), clients_of(arms, Protocol.H3)
        needed = with_aa(base, cand).union(h2 if mode != "lastbyte" else (), h3 if mode != "lastbyte" else ())
        cells = self._results.cells(campaign_id)
        rules = Rules(campaign.spec.equivalence_pct, confidence_of(campaign.spec.stopping))

        def squares_of(changed: Sequence[CellRecord]) -> dict[int, HeatmapCell]:
            by_cell: dict[int, list[Outcome]] = defaultdict(list)
            ids = [cell.cell_id for cell in changed]
            for outcome in self._results.outcomes(campaign_id, [arm.id for arm in arms if arm.id in needed], ids):
                by_cell[outcome.cell_id].append(outcome)
            # all p values at once, which the squares then find: one by one they take ten times as long
            difference_ps([pairs_in(by_cell[cell.cell_id], base, cand) for cell in changed])
            found = {cell.cell_id: square(cell, by_cell[cell.cell_id], base, cand, rules) for cell in changed}
            if mode == "lastbyte":
                return found
            return {
                ident: replace(
                    item, paper=paper_square(mode, samples_of(by_cell[ident], h2), samples_of(by_cell[ident], h3))
                )
                for ident, item in found.items()
            }

        squares = corrected(self._kept.of(cells, (base, cand, rules, mode), squares_of))
        return Heatmap(
            campaign_id=campaign.id,
            state=campaign.state,
            baseline=base,
            candidate=cand,
            origin_note=origin_note(campaign, cells),
            providers=by_provider(squares, lambda item: item.cell),
            mode=mode,
            mode_note=None if mode == "lastbyte" else mode_note(mode, arms),
        )


def pick_arm(field: str, wanted: str | None, protocol: Protocol, arms: Sequence[Client]) -> str:
    """The arm that is wanted, by default the first that speaks ``protocol``. Raises InvalidInput naming ``field``."""
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

"""A/A arms and stopping rules, from the request to what a worker gets and what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.campaign import AaArms, StoppingRule
from lastbyte.ports import CampaignPlan
from lastbyte.services.campaigns import eta_s, with_aa_arms
from lastbyte.services.heatmap import Heatmaps
from tests.integration.samples import CLIENTS, H2, H3, good, plan, proof


def ruled(aa: AaArms = AaArms.OFF, **rules: float) -> CampaignPlan:
    sample = plan(endpoints=1, rounds=6)
    clients = tuple(with_aa_arms(CLIENTS, aa))
    spec = replace(sample.spec, client_ids=tuple(c.id for c in clients), aa=aa, **rules)  # type: ignore[arg-type]
    spec.validate()
    return replace(sample, spec=spec, clients=clients)


def test_an_aa_arm_is_an_arm_like_any_other(
    campaigns: PostgresCampaignStore,
    cells: PostgresCellStore,
    results: PostgresResultStore,
    catalogue: PostgresCatalogue,
) -> None:
    ident = campaigns.create(ruled(AaArms.BOTH))
    campaigns.create(ruled(AaArms.BOTH))  # the arms are known by now
    assert campaigns.get(ident).spec.aa is AaArms.BOTH
    assert campaigns.get(ident).spec.client_ids == (H2, H3, f"{H2}@aa", f"{H3}@aa")
    assert [client.id for client in catalogue.clients()] == [H2, H3], "it is not offered for other campaigns"
    (cell,) = (c.cell_id for c in campaigns.dispatchable_cells(10, ident))
    claimed = cells.claim(cell, "w", 60)
    assert claimed is not None
    assert claimed.clients[2].argv == claimed.clients[0].argv
    cells.store_proof(cell, "w", proof())
    for number in range(1, 9):
        cells.store_trial(cell, "w", good(number, H2, 1.00))
        cells.store_trial(cell, "w", good(number, H3, 1.02))
        cells.store_trial(cell, "w", good(number, f"{H2}@aa", 1.05 if number % 2 else 0.95))
    heatmap = Heatmaps(campaigns, results).of(ident)
    assert (heatmap.baseline, heatmap.candidate) == (H2, H3)
    (square,) = heatmap.providers[0].cells
    assert square.aa_floor_pct == pytest.approx(100 * (1 / 0.95 - 1))
    assert square.below_floor, "2 % is less than the client differs from itself by"
    assert not square.aa_biased
    assert (square.n, square.baseline.n) == (8, 8), "the second run of the client is no trial of the first"
    again = Heatmaps(campaigns, results).of(ident, H2, f"{H2}@aa").providers[0].cells[0]
    assert again.n == 8


def test_without_an_aa_arm_nothing_is_known_of_the_noise(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    ident = campaigns.create(ruled())
    (cell,) = (c.cell_id for c in campaigns.dispatchable_cells(10, ident))
    cells.claim(cell, "w", 60)
    cells.store_trial(cell, "w", good(1, H2))
    (square,) = Heatmaps(campaigns, results).of(ident).providers[0].cells
    assert (square.aa_floor_pct, square.below_floor) == (None, False)


def test_the_stopping_rule_and_the_stored_trials_come_with_the_cell(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = campaigns.create(ruled(max_rounds=20, target_width_pct=2.5, equivalence_pct=1.5))
    (cell,) = (c.cell_id for c in campaigns.dispatchable_cells(10, ident))
    claimed = cells.claim(cell, "w", 60)
    assert claimed is not None
    assert claimed.stopping == StoppingRule(6, 20, 2.5, 1.5)
    assert claimed.rounds == 20
    cells.store_trial(cell, "w", good(0, H2, 9.0))
    cells.store_trial(cell, "w", good(1, H2, 0.5, "CPU steal: much"))
    again = cells.claim(cell, "w", 60)
    assert again is not None
    assert again.done == {(0, H2), (1, H2)}
    assert [(o.round_index, o.client_id, o.ttlb_s, o.unproven_reason) for o in again.stored] == [
        (1, H2, 0.5, "CPU steal: much")
    ], "the warm-up has no say"


def test_saved_rounds_count_as_progress_and_not_as_time_left(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    sample = ruled(max_rounds=20)
    ident = campaigns.create(replace(sample, profiles=plan(1, 2).profiles))
    first, _ = (c.cell_id for c in campaigns.dispatchable_cells(10, ident))
    assert campaigns.get(ident).progress.trials_planned == 2 * 2 * 21
    cells.claim(first, "w", 60)
    for number in range(7):
        for client in (H2, H3):
            cells.store_trial(first, "w", good(number, client))
    cells.finish(first, "w", rounds_saved=14)
    record = campaigns.get(ident)
    assert (record.progress.rounds_saved, record.progress.trials_saved) == (14, 28)
    eta = eta_s(record)
    assert eta is not None
    assert eta == pytest.approx(record.progress.busy_s / 14 * 42)

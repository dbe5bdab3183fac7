"""How many trials pass a filter is counted without reading them, and must be what the pages hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, event

from lastbyte.adapters.postgres import trial_pages
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.trial import FailureKind
from lastbyte.ports import TrialFilter
from tests.integration.samples import ENDPOINTS, H2, H3, bad, good, plan

FILTERS = {
    "none": (TrialFilter(), 16),
    "cells alone": (TrialFilter(endpoint_id=ENDPOINTS[1].id, profile_name="baseline"), 8),
    "client": (TrialFilter(client_id=H3), 8),
    "client of a provider": (TrialFilter(client_id=H3, provider=ENDPOINTS[0].provider), 8),
    "outcome": (TrialFilter(outcome="timeout"), 2),
    "outcome that never was": (TrialFilter(outcome="dns"), 0),
    "round": (TrialFilter(round_index=2), 4),
    "warm-up": (TrialFilter(warmup=True), 4),
    "not warm-up": (TrialFilter(warmup=False), 12),
    "failed": (TrialFilter(failed=True), 4),
    "not failed": (TrialFilter(failed=False), 12),
    "unproven": (TrialFilter(unproven=True), 2),
    "proven": (TrialFilter(unproven=False), 14),
    "TTLB": (TrialFilter(ttlb_from_s=0.25, ttlb_to_s=0.35), 4),
    "all at once": (
        TrialFilter(
            endpoint_id=ENDPOINTS[0].id,
            profile_name="baseline",
            client_id=H2,
            outcome="ok",
            warmup=False,
            unproven=False,
            ttlb_from_s=0.25,
        ),
        1,
    ),
}


def test_the_total_is_what_the_pages_hold(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    ident = campaigns.create(plan(endpoints=2))
    for cell in campaigns.dispatchable_cells(10, ident):
        assert cells.claim(cell.cell_id, "w", 60)
        h3 = [good(0, H3), bad(1, H3), bad(2, H3, FailureKind.RESET), good(3, H3, 0.3)]
        h2 = [good(0, H2), good(1, H2, 0.2), good(2, H2, 0.3), good(3, H2, 0.4, "the link was slow")]
        for trial in h2 + h3:
            assert cells.store_trial(cell.cell_id, "w", trial)
    for name, (which, expected) in FILTERS.items():
        assert len(list(results.all_trials(ident, which))) == expected, name
        first = results.trials(ident, which, 1, None)
        assert first.total == expected, f"{name}: counted, since there is a second page"
        assert results.trials(ident, which, 100, None).total == expected, f"{name}: all on one page"
        if first.next is not None:
            second = results.trials(ident, which, 100, first.next)
            assert second.total == expected, f"{name}: the page before is counted too"


def _scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "Relation Name" in plan:
        yield plan
    for part in plan.get("Plans", ()):
        yield from _scans(part)


def test_no_plan_goes_on_with_cells_of_other_campaigns(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    """In a database of many nights that was never analyzed, that took longer than a statement may."""
    ident = UUID(campaigns.create(plan(endpoints=2)))
    plans: list[Any] = []

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def explain(_c: Any, cursor: Any, statement: str, given: Any, *_: Any) -> tuple[str, Any]:
        if statement.startswith("SELECT"):
            cursor.execute("SET LOCAL enable_seqscan = off")  # which few rows would else be read by
            cursor.execute("SET LOCAL enable_bitmapscan = off")
            cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", given)
            plans.append(cursor.fetchone()[0][0]["Plan"])
        return statement, given

    for name, (which, _) in FILTERS.items():
        for ask in (trial_pages.count, lambda *of: trial_pages.page(*of, limit=2, cursor=None, order="id")):
            plans.clear()
            with engine.begin() as connection:
                ask(connection, ident, which)
            (found,) = plans
            for scan in _scans(found):
                if scan["Relation Name"] == "cells":
                    assert "campaign_id" in scan.get("Index Cond", "") + scan.get("Filter", ""), (name, scan)
                if scan["Relation Name"] == "cell_rollups":
                    assert "cell_id" in scan.get("Index Cond", ""), (name, scan)

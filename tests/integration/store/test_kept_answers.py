"""Heatmaps are worked out again only where something changed, and answers about campaigns that are over not at all."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text

from api.kept import KeptAnswers, code_digest
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.kept_answers import PostgresKeptAnswers
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.errors import NotFound
from lastbyte.services import heatmap
from lastbyte.services.heatmap import Heatmaps
from tests.integration.samples import H2, H3, good, plan


def test_only_the_cell_that_changed_is_worked_out_again(
    campaigns: PostgresCampaignStore,
    cells: PostgresCellStore,
    results: PostgresResultStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worked_out: list[int] = []
    square = heatmap.square
    monkeypatch.setattr(heatmap, "square", lambda cell, *rest: worked_out.append(cell.cell_id) or square(cell, *rest))
    ident = campaigns.create(plan())
    first, second = [cell.cell_id for cell in campaigns.dispatchable_cells(10, ident)]
    heatmaps = Heatmaps(campaigns, results)
    heatmaps.of(ident)
    heatmaps.of(ident)
    assert sorted(worked_out) == [first, second]
    assert cells.claim(first, "w", 60)
    for trial in (good(1, H2), good(1, H3)):
        assert cells.store_trial(first, "w", trial)
    squares = {item.cell.cell_id: item.n for item in heatmaps.of(ident).providers[0].cells}
    assert squares == {first: 1, second: 0}
    assert sorted(worked_out) == [first, first, second]
    heatmaps.of(ident, H3, H2)
    assert sorted(worked_out) == [first, first, first, second, second], "the other way round is another question"


def test_answers_hold_until_a_trial_comes_and_outlive_the_process_once_it_is_over(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = campaigns.create(plan(endpoints=1))
    (cell,) = [cell.cell_id for cell in campaigns.dispatchable_cells(10, ident)]
    asked: list[bytes] = []

    def ask(kept: KeptAnswers, answer: bytes) -> bytes:
        return kept.of(ident, "q", lambda: asked.append(answer) or answer)

    kept = KeptAnswers(PostgresKeptAnswers(engine), "v1")
    assert ask(kept, b"one") == b"one"
    assert ask(kept, b"two") == b"one"
    assert cells.claim(cell, "w", 60)
    assert ask(kept, b"running") == b"running", "the state of a cell shows"
    assert cells.store_trial(cell, "w", good(1, H2))
    assert ask(kept, b"three") == b"three"
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM kept_answers")).scalar_one() == 0
    cells.finish(cell, "w")
    assert ask(kept, b"over") == b"over"
    assert ask(KeptAnswers(PostgresKeptAnswers(engine), "v1"), b"again") == b"over"
    assert ask(KeptAnswers(PostgresKeptAnswers(engine), "v2"), b"new code") == b"new code"
    campaigns.delete(ident)
    with pytest.raises(NotFound):
        ask(kept, b"gone")


def test_memory_is_bounded(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    ident = campaigns.create(plan(endpoints=1))
    kept = KeptAnswers(PostgresKeptAnswers(engine), "v1", most_bytes=100)
    for question in ("a", "b", "c"):
        assert kept.of(ident, question, lambda: b"x" * 40) == b"x" * 40
    assert kept.of(ident, "c", lambda: b"new") == b"x" * 40
    assert kept.of(ident, "a", lambda: b"new") == b"new", "the oldest was given up"


def test_the_digest_of_the_code_is_that_of_the_code() -> None:
    assert code_digest() == code_digest()
    assert len(code_digest()) == 16

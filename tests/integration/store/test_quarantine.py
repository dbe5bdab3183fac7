"""A cell over which workers crash three times in a row is given up, with its reason; the campaign ends."""

from __future__ import annotations

from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.campaign import CampaignState, CellState
from tests.integration.samples import H2, H3, good, plan


def crash(engine: Engine) -> None:
    """What a worker that is killed leaves: a lease that ends by itself."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE cells SET lease_until = now() - interval '1 s' WHERE state = 'running' AND lease_until > now()"
            )
        )


def open_cells(campaigns: PostgresCampaignStore, ident: str) -> list[int]:
    return [cell.cell_id for cell in campaigns.dispatchable_cells(10, ident)]


def test_the_third_crash_in_a_row_is_the_last(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    ident = campaigns.create(plan(endpoints=1))
    (cell,) = open_cells(campaigns, ident)
    for worker in ("w1", "w2", "w3"):
        assert cells.claim(cell, worker, 60), f"{worker} may try"
        crash(engine)
    assert open_cells(campaigns, ident) == [cell]
    assert cells.claim(cell, "w4", 60) is None
    (record,) = results.cells(ident)
    assert record.state is CellState.QUARANTINED
    assert record.given_up.startswith(
        "Given up after 3 crashes with no trial stored in between; the last one: worker w3"
    )
    assert campaigns.get(ident).state is CampaignState.DONE
    assert open_cells(campaigns, ident) == []


def test_a_paused_campaign_ends_with_its_last_cell(campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
    ident = campaigns.create(plan(endpoints=1))
    (cell,) = open_cells(campaigns, ident)
    for number in range(3):
        assert cells.claim(cell, f"w{number}", 60)
        cells.release(cell, f"w{number}")
        if number == 2:
            assert campaigns.pause(ident)
        cells.note_crash(cell, "it broke")
    assert campaigns.get(ident).state is CampaignState.DONE


def test_a_stored_trial_starts_the_count_anew(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = campaigns.create(plan(endpoints=1))
    (cell,) = open_cells(campaigns, ident)
    for number, trial in enumerate((good(0, H2), good(0, H3), good(1, H2), good(1, H3), good(2, H2))):
        worker = f"w{number}"
        assert cells.claim(cell, worker, 60)
        assert cells.store_trial(cell, worker, trial)
        crash(engine)
    assert cells.claim(cell, "last", 60)


def test_a_cell_that_is_handed_back_in_peace_counts_no_crash(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    (cell,) = open_cells(campaigns, campaigns.create(plan(endpoints=1)))
    for number in range(5):
        assert cells.claim(cell, f"w{number}", 60)
        cells.release(cell, f"w{number}")


def test_unexpected_errors_count_too_and_others_go_on(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    ident = campaigns.create(plan())
    poison, sound = open_cells(campaigns, ident)
    for number in range(3):
        assert cells.claim(poison, f"w{number}", 60)
        cells.release(poison, f"w{number}")
        cells.note_crash(poison, "ValueError: it is \x00 bad")
    assert cells.claim(poison, "w9", 60) is None
    given_up = {record.cell_id: record.given_up for record in results.cells(ident)}
    assert given_up[poison].endswith("the last one: ValueError: it is \ufffd bad.")
    assert given_up[sound] == ""
    assert campaigns.get(ident).state is CampaignState.RUNNING
    assert cells.claim(sound, "w", 60)
    cells.finish(sound, "w")
    assert campaigns.get(ident).state is CampaignState.DONE

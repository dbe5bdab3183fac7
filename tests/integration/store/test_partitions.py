"""Trials lie in a partition per month; rollups hold what comparisons need of them, and let each round in once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, create_engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.partitions import MONTHS_AHEAD, TrialPartitions
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.ports import TrialFilter
from migrations import run
from tests.integration.samples import H2, H3, bad, good, plan

_PARTITIONS = "SELECT relid::text FROM pg_partition_tree('trials') WHERE isleaf ORDER BY 1"


def ask(engine: Engine, query: str, **parameters: object) -> list[Any]:
    with engine.begin() as connection:
        return list(connection.execute(text(query), parameters).scalars())


def measured(campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> tuple[str, int]:
    """A campaign of one cell with four stored trials."""
    ident = campaigns.create(plan(endpoints=1))
    (cell,) = [open_cell.cell_id for open_cell in campaigns.dispatchable_cells(10, ident)]
    assert cells.claim(cell, "w", 60)
    for trial in (good(0, H2), good(0, H3), good(1, H2), bad(1, H3)):
        assert cells.store_trial(cell, "w", trial)
    return ident, cell


def in_month(moment: datetime) -> str:
    return f"trials_{moment:%Y_%m}"


def test_months_are_made_ahead_and_only_once(engine: Engine) -> None:
    before = ask(engine, _PARTITIONS)
    assert len(before) == 1 + 1 + MONTHS_AHEAD
    assert in_month(datetime.now(UTC)) in before
    engine_again = TrialPartitions(engine)
    assert engine_again.keep(0).made == 0
    last = before[-2]
    with engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {last}"))
    assert engine_again.keep(0).made == 1
    assert ask(engine, _PARTITIONS) == before


def test_a_round_is_let_in_once_across_months(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    ident, cell = measured(campaigns, cells)
    ask(engine, "UPDATE trials SET stored_at = stored_at - interval '40 days' RETURNING id")
    assert ask(engine, "SELECT count(*) FROM trials_stray") == [4]
    assert cells.store_trial(cell, "w", good(1, H2)), "the cell is still ours"
    assert results.trials(ident, TrialFilter(), 10, None).total == 4
    assert ask(engine, "SELECT count(*) FROM trials") == [4]


def test_strays_move_into_their_month_with_their_artifacts(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    ident, _ = measured(campaigns, cells)
    then = datetime(2024, 2, 10, tzinfo=UTC)
    ids = ask(engine, "UPDATE trials SET stored_at = :then RETURNING id", then=then)
    ask(
        engine,
        "INSERT INTO artifacts (trial_id, kind, media_type, location, byte_size, sha256)"
        " VALUES (:id, 'qlog', 'a/b', 'x', 1, 'y') RETURNING id",
        id=ids[0],
    )
    assert ask(engine, "SELECT make_trial_partition(:then)", then=then) == [True]
    assert ask(engine, "SELECT count(*) FROM trials_2024_02") == [4]
    assert ask(engine, "SELECT count(*) FROM trials_stray") == [0]
    assert ask(engine, "SELECT count(*) FROM artifacts") == [1]
    assert [item.id for item in results.trials(ident, TrialFilter(), 10, None).items] == sorted(ids)


def created(campaigns: PostgresCampaignStore, engine: Engine, ago: timedelta) -> None:
    """One more campaign, so long ago by the clock of the database."""
    ident = campaigns.create(plan(endpoints=1))
    moved = "UPDATE campaigns SET created_at = clock_timestamp() - :ago WHERE id = :id RETURNING name"
    ask(engine, moved, ago=ago, id=ident)


def test_a_clock_that_is_ahead_for_a_moment_drops_nothing(engine: Engine, campaigns: PostgresCampaignStore) -> None:
    """Seen from a clock that is 400 days ahead, what was measured until just now is 400 days old."""
    ahead = timedelta(days=400)
    for days in (0, 1, 2, 31):
        month = datetime.now(UTC) - ahead - timedelta(days=days)
        ask(engine, "SELECT make_trial_partition(:then)", then=month)
        created(campaigns, engine, ahead + timedelta(days=days))
    months = ask(engine, _PARTITIONS)
    partitions = TrialPartitions(engine)
    assert partitions.keep(90).dropped == ()
    created(campaigns, engine, timedelta())
    created(campaigns, engine, timedelta(hours=23))
    assert partitions.keep(90).dropped == (), "campaigns go on while the clock is ahead"
    imported = {"id": campaigns.create(plan(endpoints=1)), "then": datetime.now(UTC) - timedelta(days=2)}
    ask(engine, "UPDATE campaigns SET created_at = :then, source = '{}' WHERE id = :id RETURNING id", **imported)
    assert partitions.keep(90).dropped == (), "times of an import are others' times"
    assert ask(engine, _PARTITIONS) == months
    created(campaigns, engine, timedelta(hours=25))
    assert len(partitions.keep(90).dropped) >= 2, "so long ahead, it is the time"


def test_old_months_are_dropped_and_heatmaps_stay(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore, results: PostgresResultStore
) -> None:
    ident, _ = measured(campaigns, cells)
    outcomes = results.outcomes(ident, [H2, H3])
    assert len(outcomes) == 2
    long_ago = datetime.now(UTC) - timedelta(days=400)
    assert ask(engine, "SELECT make_trial_partition(:then)", then=long_ago) == [True]
    ids = ask(engine, "UPDATE trials SET stored_at = :then WHERE round_index = 0 RETURNING id", then=long_ago)
    ask(
        engine,
        "INSERT INTO artifacts (trial_id, kind, media_type, location, byte_size, sha256)"
        " VALUES (:id, 'qlog', 'a/b', 'x', 1, 'y') RETURNING id",
        id=ids[0],
    )
    partitions = TrialPartitions(engine)
    assert partitions.keep(90).dropped == (), "the campaign of today alone says little about the date"
    created(campaigns, engine, timedelta(days=2))
    assert partitions.keep(3650).dropped == ()
    assert partitions.keep(90).dropped == (in_month(long_ago),)
    assert ask(engine, "SELECT count(*) FROM trials") == [2]
    assert ask(engine, "SELECT count(*) FROM artifacts") == [0]
    assert results.outcomes(ident, [H2, H3]) == outcomes


def test_a_deleted_campaign_takes_trials_rollups_and_artifacts_along(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    measured(campaigns, cells)
    ask(
        engine,
        "INSERT INTO artifacts (trial_id, kind, media_type, location, byte_size, sha256)"
        " SELECT id, 'qlog', 'a/b', 'x', 1, 'y' FROM trials RETURNING id",
    )
    ask(engine, "DELETE FROM campaigns RETURNING id")
    assert ask(engine, "SELECT id FROM trials") == []
    assert ask(engine, "SELECT cell_id FROM cell_rollups") == []
    assert ask(engine, "SELECT id FROM artifacts") == []


def test_versions_grow_with_what_a_square_shows(
    engine: Engine, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    _, cell = measured(campaigns, cells)
    (before,) = ask(engine, "SELECT version FROM cells WHERE id = :id", id=cell)
    cells.store_trial(cell, "w", good(1, H2))
    assert ask(engine, "SELECT version FROM cells WHERE id = :id", id=cell) == [before], "nothing was stored"
    cells.store_trial(cell, "w", good(2, H2))
    assert ask(engine, "SELECT version FROM cells WHERE id = :id", id=cell) == [before + 1]


def test_a_populated_database_of_0004_comes_forward(embedded_postgres_url: str) -> None:
    run.upgrade(embedded_postgres_url, "0004")
    engine = create_engine(embedded_postgres_url)
    with engine.begin() as connection:
        for statement in _POPULATED_0004.split(";"):
            connection.execute(text(statement))
        trials = connection.execute(text("SELECT * FROM trials ORDER BY id")).mappings().all()
    run.upgrade(embedded_postgres_url)
    run.check(embedded_postgres_url)
    with engine.begin() as connection:
        after = connection.execute(text("SELECT * FROM trials ORDER BY id")).mappings().all()
    assert [{key: row[key] for key in trials[0]} for row in after] == [dict(row) for row in trials]
    assert ask(engine, "SELECT count(*) FROM trials_stray") == [0]
    assert ask(engine, "SELECT count(*) FROM trials_2025_12") == [2]
    assert ask(engine, "SELECT ttlb_s FROM cell_rollups ORDER BY client_id") == [[0.5, 0.25], [1.5, None]]
    (ident,) = ask(engine, "SELECT id FROM campaigns")
    assert len(PostgresResultStore(engine).outcomes(str(ident), ["a", "b"])) == 2
    new = ask(
        engine,
        "INSERT INTO trials (campaign_id, cell_id, client_id, round_index, position, started_at, outcome, elapsed_s,"
        " exit_code, headers) SELECT campaign_id, cell_id, 'a', 7, 0, now(), 'dns', 1, 6, '{}' FROM trials LIMIT 1"
        " RETURNING id",
    )
    assert new == [max(row["id"] for row in trials) + 1]
    assert ask(engine, "SELECT count(*) FROM artifacts") == [1]
    run.downgrade(embedded_postgres_url, "0004")
    assert ask(engine, "SELECT count(*) FROM trials") == [5]
    assert ask(engine, "SELECT count(*) FROM artifacts") == [1]
    engine.dispose()


_POPULATED_0004 = """
INSERT INTO endpoints VALUES ('e', 'p', 'https://e.test/', '1MB', 'object', 'testbed', NULL, 0, 1, true);
INSERT INTO profiles VALUES ('baseline', '{}', 1, true);
INSERT INTO clients VALUES ('a', 'curl', 'h2', '{}', 1, true), ('b', 'curl', 'h3', '{}', 2, true);
INSERT INTO campaigns (id, name, endpoint_ids, profile_names, rounds, seed, vantage, timeout_s)
VALUES ('5f5b4a0e-6b6e-4b8e-9a53-0d3a3c5b7a10', 'old', '{e}', '{baseline}', 1, 1, 'local', 60);
INSERT INTO cells (campaign_id, endpoint_id, profile_name, vantage, position, endpoint, profile, trials_planned)
SELECT id, 'e', 'baseline', 'local', 0, '{}', '{}', 4 FROM campaigns;
INSERT INTO trials (campaign_id, cell_id, client_id, round_index, position, started_at, outcome, ttlb_s, elapsed_s,
                    exit_code, headers, stored_at)
SELECT campaign_id, id, client, round, 0, now(), CASE WHEN ttlb_s IS NULL THEN 'timeout' ELSE 'ok' END, ttlb_s, 1, 0,
       '{}', CASE WHEN client = 'a' THEN timestamptz '2025-12-05' ELSE now() END
  FROM cells, (VALUES ('a', 0, 0.5), ('a', 1, 0.25), ('b', 0, 1.5), ('b', 1, NULL)) AS made (client, round, ttlb_s);
INSERT INTO artifacts (trial_id, kind, media_type, location, byte_size, sha256)
SELECT id, 'qlog', 'a/b', 'x', 1, 'y' FROM trials ORDER BY id LIMIT 1
"""

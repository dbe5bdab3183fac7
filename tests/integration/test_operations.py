"""Backup and restore, settings shown without secrets, migrations of a populated database, figures for monitoring."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine, create_engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.errors import StoreUnavailable
from lastbyte.services.heatmap import Heatmaps
from lastbyte.settings import Settings
from migrations import run
from migrations.state import check_schema, revisions
from tests.integration.api.conftest import serving
from tests.integration.database import database_url, engine, migrated_template
from tests.integration.samples import CLIENTS, ENDPOINTS, H2, H3, PROFILES, good, plan

__all__ = ["database_url", "engine", "migrated_template"]


def lastbyte(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lastbyte")), *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)


def measured_campaign(engine: Engine) -> str:
    """A campaign of one cell with trials in it."""
    PostgresCatalogue(engine).sync(ENDPOINTS, PROFILES, CLIENTS)
    store, cells = PostgresCampaignStore(engine), PostgresCellStore(engine)
    ident = store.create(plan(endpoints=1, rounds=6))
    (cell,) = store.dispatchable_cells(10, ident)
    assert cells.claim(cell.cell_id, "w", 60.0)
    for round_index in range(7):
        for client, ttlb_s in ((H2, 0.1), (H3, 0.09)):
            cells.store_trial(cell.cell_id, "w", good(round_index, client, ttlb_s + round_index / 1000))
    cells.finish(cell.cell_id, "w")
    return ident


def numbers(engine: Engine, ident: str) -> str:
    return repr(Heatmaps(PostgresCampaignStore(engine), PostgresResultStore(engine)).of(ident, None, None))


def test_backup_wreck_restore_gives_the_same_numbers(engine: Engine, database_url: str, tmp_path: Path) -> None:
    ident = measured_campaign(engine)
    before = numbers(engine, ident)
    file = tmp_path / "all.backup"
    done = lastbyte("backup", str(file), "--database-url", database_url)
    assert done.returncode == 0, done.stderr

    with engine.begin() as connection:
        connection.execute(text("DROP TABLE schedule_runs"))
        connection.execute(text("DELETE FROM campaigns"))
    done = lastbyte("restore", str(file), "--yes", "--database-url", database_url)
    assert done.returncode == 0, done.stderr
    assert numbers(engine, ident) == before  # by the same engine: connections that were ended are made anew
    run.check(database_url)
    with engine.connect() as connection:
        left = connection.execute(text("SELECT datname FROM pg_database")).scalars().all()
    assert not [name for name in left if "_restore_" in name or "_before_" in name]


def test_a_damaged_backup_changes_nothing(engine: Engine, database_url: str, tmp_path: Path) -> None:
    ident = measured_campaign(engine)
    before = numbers(engine, ident)
    file = tmp_path / "all.backup"
    assert lastbyte("backup", str(file), "--database-url", database_url).returncode == 0
    whole = file.read_bytes()
    for damaged in (b"nonsense", whole[: len(whole) // 2]):
        file.write_bytes(damaged)
        done = lastbyte("restore", str(file), "--yes", "--database-url", database_url)
        assert done.returncode != 0
        assert numbers(engine, ident) == before
    done = lastbyte("restore", str(tmp_path / "none"), "--yes", "--database-url", database_url)
    assert (done.returncode, "can't be read" in done.stderr) == (2, True)


def test_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "lastbyte_vantage").write_text("oslo\n")
    done = lastbyte(
        "config",
        "--json",
        LASTBYTE_DATABASE_URL="postgresql+psycopg://me:geheim@db/lastbyte",
        LASTBYTE_API_KEY="lb_" + "x" * 40,
        LASTBYTE_SECRETS=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert "geheim" not in done.stdout
    assert "xxxx" not in done.stdout
    found = {item["variable"]: (item["value"], item["source"]) for item in json.loads(done.stdout)}
    assert found["LASTBYTE_DATABASE_URL"] == ("postgresql+psycopg://me:********@db/lastbyte", "environment")
    assert found["LASTBYTE_API_KEY"] == ("********", "environment")
    assert found["LASTBYTE_VANTAGE"] == ("oslo", f"file in {tmp_path}")
    assert found["LASTBYTE_BOX"] == ("auto", "default")
    wrong = lastbyte("config", LASTBYTE_TRIAL_TIMEOUT_S="-1")
    assert (wrong.returncode, "LASTBYTE_TRIAL_TIMEOUT_S" in wrong.stderr) == (2, True)


CAMPAIGN = text("""
    INSERT INTO campaigns (id, name, endpoint_ids, profile_names, rounds, seed, vantage, timeout_s, state)
    VALUES (CAST(:id AS uuid), 'old', '{e}', '{p}', 2, 7, 'local', 30, 'running')
""")
REST = (
    "INSERT INTO clients (id, program, protocol, spec, position) VALUES ('h2', 'c', 'h2', '{}', 0)",
    """INSERT INTO endpoints (id, provider, url, size_label, kind, origin, base_rtt_ms, position)
       VALUES ('e', 'p', 'https://e.example/x', '1MB', 'object', 'production', 0, 0)""",
    "INSERT INTO profiles (name, spec, position) VALUES ('p', '{}', 0)",
    "INSERT INTO schedules (name, cron, time_zone, template) VALUES ('mine', '0 3 * * *', 'UTC', '{}')",
)
CELL = text("""
    INSERT INTO cells (campaign_id, endpoint_id, profile_name, vantage, position, endpoint, profile, trials_planned)
    VALUES (CAST(:id AS uuid), 'e', 'p', 'local', 0, '{"url": "https://e.example/x", "origin": "production"}', '{}', 6)
""")
TRIAL = text("""
    INSERT INTO trials (campaign_id, cell_id, client_id, round_index, position, started_at, outcome, ttlb_s, elapsed_s,
                        exit_code, headers)
    SELECT campaign_id, id, 'h2', round, 0, timestamptz '2026-03-01 00:00Z' + round * interval '20 days', 'ok',
           0.25 * (1 + round), 0.5, 0, '{}'
      FROM cells, generate_series(0, 2) AS round WHERE campaign_id = CAST(:id AS uuid)
""")


@pytest.mark.parametrize("revision", revisions()[:-1])
def test_a_populated_database_of_each_earlier_revision_comes_forward(embedded_postgres_url: str, revision: str) -> None:
    url, ident = embedded_postgres_url, "00000000-0000-4000-8000-000000000001"
    run.upgrade(url, revision)
    engine = create_engine(url)
    with engine.begin() as connection:
        later = {"schedules": revision >= "0006"}
        for statement in REST:
            if not (later["schedules"] and "INTO schedules" in statement):
                connection.execute(text(statement))
        for statement in (CAMPAIGN, CELL, TRIAL):
            connection.execute(statement, {"id": ident})
    with pytest.raises(StoreUnavailable, match=f"revision {revision}"):
        check_schema(engine)
    run.upgrade(url)
    check_schema(engine)
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT round_index, ttlb_s, outcome FROM trials WHERE campaign_id = CAST(:id AS uuid) ORDER BY 1"),
            {"id": ident},
        ).all()
        assert [tuple(row) for row in rows] == [(0, 0.25, "ok"), (1, 0.5, "ok"), (2, 0.75, "ok")]
        campaign = connection.execute(text("SELECT name, state, rounds FROM campaigns")).one()
        assert tuple(campaign) == ("old", "running", 2)
    engine.dispose()
    run.check(url)


def test_ready_means_migrated_and_requests_have_ids_and_figures(
    engine: Engine, database_url: str, embedded_valkey_url: str
) -> None:
    measured_campaign(engine)
    with serving(Settings(database_url=database_url, broker_url=embedded_valkey_url)) as url:
        assert httpx.get(f"{url}/readyz").status_code == 200
        named = httpx.get(f"{url}/api/v1/campaigns", headers={"X-Request-ID": "abc-1"})
        assert named.headers["X-Request-ID"] == "abc-1"
        made_up = httpx.get(f"{url}/api/v1/none", headers={"X-Request-ID": "no spaces here"})
        assert len(made_up.headers["X-Request-ID"]) == 32

        shown = httpx.get(f"{url}/metrics").text
        for line in (
            'lastbyte_up{what="database"} 1.0',
            'lastbyte_up{what="broker"} 1.0',
            'lastbyte_campaigns{state="done"} 1.0',
            'lastbyte_http_requests_total{method="GET",route="/api/v1/campaigns",status="200"} 1.0',
            "lastbyte_db_pool_size ",
        ):
            assert line in shown, shown

        with engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '0004'"))
        answer = httpx.get(f"{url}/readyz")
        assert (answer.status_code, "python -m migrations upgrade" in answer.json()["detail"]) == (503, True)

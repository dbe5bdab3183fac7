from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine

from lastbyte.embedded.postgres import Postgres
from migrations import run as migrate
from tests.data import make_samples
from tests.integration.importers.states import heatmap_json, row_counts

DATA = Path(make_samples.__file__).parent
LASTBYTE = [str(Path(sys.executable).with_name("lastbyte"))]


def run(*arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*LASTBYTE, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "200", **environment},
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def url_of(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def test_import_from_the_command_line(engine: Engine, tmp_path: Path) -> None:
    done = run("import", str(DATA / "timings"), "--name", "old", "--database-url", url_of(engine))
    campaign_id = done.stdout.strip()
    assert "Imported 2250 trials in 45 cells of 5 clients" in done.stderr
    assert len(heatmap_json(engine, campaign_id)["providers"]) == 3
    file = tmp_path / "trials.jsonl"
    run("export", campaign_id, str(file), LASTBYTE_DATABASE_URL=url_of(engine))
    document = json.loads(run("heatmap", str(file), "--json").stdout)
    assert document["mode"] == "lastbyte"
    assert len(document["providers"]) == 3
    run("export", campaign_id, str(tmp_path / "trials.txt"), code=2, LASTBYTE_DATABASE_URL=url_of(engine))


def test_bad_files_leave_nothing_and_are_named(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "loss-0_delay-0_bw-10" / "google" / "1MB"
    folder.mkdir(parents=True)
    (folder / "curl_h2.json").write_text("[950, 951]")
    (folder / "chrome_h3.json").write_text("[950, ")
    before = row_counts(engine)
    done = run("import", str(tmp_path), "--database-url", url_of(engine), code=2)
    assert "chrome_h3.json: line 1 column" in done.stderr
    assert "truncated" in done.stderr
    assert row_counts(engine) == before
    done = run("import", str(tmp_path), "--on-error", "skip", "--database-url", url_of(engine))
    assert "left out:" in done.stderr
    assert row_counts(engine)["trials"] == 2


def test_capsules_from_the_command_line(engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path) -> None:
    file = tmp_path / "campaign.capsule"
    digest = run("capsule", "export", measured, str(file), "--database-url", url_of(engine)).stdout.strip()
    said = json.loads(run("capsule", "verify", str(file), "--json", "--digest", digest).stdout)
    assert (said["trials"], said["cells"], said["campaign"]) == (64, 4, measured)
    run("capsule", "verify", str(file), "--digest", "0" * 64, code=2)
    arguments = ("capsule", "import", str(file), "--database-url", url_of(elsewhere))
    assert run(*arguments).stdout.strip() == measured
    assert "Here already" in run(*arguments).stderr
    assert heatmap_json(elsewhere, measured) == heatmap_json(engine, measured)
    whole = file.read_bytes()
    file.write_bytes(whole[:-50])
    assert "truncated" in run("capsule", "verify", str(file), code=2).stderr
    run("capsule", "export", "nothing", str(tmp_path / "none"), "--database-url", url_of(engine), code=1)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["campaign.capsule"]


def test_phases_from_the_command_line() -> None:
    document = json.loads(run("report", "phases", str(DATA / "sockets"), "--json").stdout)
    quic = document["rows"][0]
    assert (quic["delay_ms"], quic["protocol"], quic["n"]) == (0, "quic", 5)
    assert quic["phases"]["close"]["mean_ms"] == pytest.approx(12)
    table = run("report", "phases", str(DATA / "sockets")).stdout
    assert "20.0 ± 1.4" in table
    assert "Delay: 10 ms" in table


def test_heatmaps_from_the_command_line() -> None:
    text = run("heatmap", str(DATA / "timings"), "--mode", "yu2020").stdout
    assert "facebook  Extra Loss, 10 Mbit/s" in text
    assert "+30.0%" in text
    assert "biased towards the side with more clients" in text
    document = json.loads(run("heatmap", str(DATA / "timings"), "--mode", "yu2021", "--json").stdout)
    assert document["scale_pct"] == [-25, 25]
    run("heatmap", str(DATA / "timings"), "--baseline", "netscape", code=2)
    run("heatmap", "/nowhere/at/all", code=2)


def test_the_database_of_the_system_that_runs_here(engine: Engine, embedded_postgres: Postgres, tmp_path: Path) -> None:
    done = run("import", str(DATA / "sockets"), code=1, LASTBYTE_VAR=str(tmp_path), LASTBYTE_DATABASE_URL="")
    assert "Start it with lastbyte up" in done.stderr
    embedded_postgres.ensure_database()
    var = embedded_postgres.data_folder.parent
    migrate.upgrade(embedded_postgres.url())
    done = run("import", str(DATA / "sockets"), LASTBYTE_VAR=str(var), LASTBYTE_DATABASE_URL="")
    assert "Imported 20 trials" in done.stderr

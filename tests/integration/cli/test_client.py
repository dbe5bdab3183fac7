"""The command line as a client of the API: what people see, what programs read, and exit codes for CI."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.services.access import new_key
from lastbyte.settings import KeysWanted, Settings
from tests.integration.api.conftest import serving
from tests.integration.database import database_url, engine, migrated_template
from tests.integration.samples import H2, H3, good, proof

__all__ = ["database_url", "engine", "migrated_template"]

KEY = new_key()
CREATE = ("campaign", "create", "-e", "testbed-caddy-100KB", "-p", "baseline", "-c", "curl-quiche", "-n", "12")


@pytest.fixture
def api_url(database_url: str, embedded_valkey_url: str) -> Iterator[str]:
    config = Settings(
        database_url=database_url, broker_url=embedded_valkey_url, keys=KeysWanted.REQUIRED, api_key=SecretStr(KEY)
    )
    with serving(config) as url:
        yield url


def lastbyte(api_url: str, *arguments: str, code: int = 0, key: str = KEY) -> str:
    done = run(*arguments, LASTBYTE_API_URL=api_url, LASTBYTE_API_KEY=key)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout.strip() if code == 0 else done.stdout + done.stderr


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lastbyte")), *arguments]
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=env)


def measure(engine: Engine, ident: str, slower: float = 1.0) -> None:
    cells = PostgresCellStore(engine)
    (cell,) = PostgresCampaignStore(engine).dispatchable_cells(10, ident)
    assert cells.claim(cell.cell_id, "w", 60.0)
    cells.store_proof(cell.cell_id, "w", proof())
    for number in range(13):
        for client in (H2, H3):
            cells.store_trial(cell.cell_id, "w", good(number, client, slower * (0.1 + number / 10_000)))
    cells.finish(cell.cell_id, "w")


def test_life_of_a_campaign_and_comparison_for_ci(api_url: str, engine: Engine, tmp_path: Path) -> None:
    first, same, slow = (lastbyte(api_url, *CREATE) for _ in range(3))
    assert json.loads(lastbyte(api_url, "campaign", "pause", first, "--json"))["state"] == "paused"
    lastbyte(api_url, "campaign", "resume", first)
    for ident, slower in ((first, 1.0), (same, 1.0), (slow, 2.0)):
        measure(engine, ident, slower)

    assert lastbyte(api_url, "campaign", "watch", first) == first
    assert json.loads(lastbyte(api_url, "campaign", "show", first, "--json"))["state"] == "done"
    listed = lastbyte(api_url, "campaign", "list")
    assert all(ident in listed for ident in (first, same, slow))

    assert "pass" in lastbyte(api_url, "campaign", "compare", first, same)
    worse = lastbyte(api_url, "campaign", "compare", first, slow, "--json", code=1)
    assert json.loads(worse)["verdict"] == "fail"
    unmeasured = lastbyte(api_url, *CREATE)
    assert "inconclusive" in lastbyte(api_url, "campaign", "compare", first, unmeasured, code=2)

    for kind in ("csv", "jsonl", "parquet"):
        file = tmp_path / f"trials.{kind}"
        lastbyte(api_url, "campaign", "export", first, str(file))
        assert file.stat().st_size > 500
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == 27

    lastbyte(api_url, "campaign", "cancel", unmeasured)
    assert "cancelled" in lastbyte(api_url, "campaign", "watch", unmeasured, code=1)
    lastbyte(api_url, "campaign", "delete", unmeasured, "--yes")
    assert "There is no campaign" in lastbyte(api_url, "campaign", "show", unmeasured, code=2)


def test_schedules(api_url: str, tmp_path: Path) -> None:
    file = tmp_path / "campaign.json"
    file.write_text(
        json.dumps({"endpoints": ["testbed-caddy-100KB"], "profiles": ["baseline"], "clients": ["curl-quiche"]})
    )
    lastbyte(api_url, "schedule", "create", "mine", "15 3 * * *", str(file), "--zone", "Europe/Berlin", "--disabled")
    assert "disabled" in lastbyte(api_url, "schedule", "list")
    assert json.loads(lastbyte(api_url, "schedule", "enable", "mine", "--json"))["enabled"] is True
    assert len(lastbyte(api_url, "schedule", "next", "mine").splitlines()) == 5
    ident = lastbyte(api_url, "schedule", "run", "mine")
    assert json.loads(lastbyte(api_url, "campaign", "show", ident, "--json"))["name"].startswith("mine, ")
    lastbyte(api_url, "schedule", "disable", "mine")
    lastbyte(api_url, "schedule", "delete", "mine", "--yes")
    wrong = lastbyte(api_url, "schedule", "create", "x", "61 3 * * *", str(file), code=2)
    assert "cron:" in wrong
    assert "Known: nightly" in lastbyte(api_url, "schedule", "run", "none", code=2)


def test_exit_codes_tell_what_is_wrong(api_url: str) -> None:
    assert "profiles.0" in lastbyte(api_url, *CREATE[:4], "-p", "bascline", "-c", "curl-quiche", code=2)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        assert "does not answer" in lastbyte(url, "campaign", "list", code=3)
    assert "LASTBYTE_API_KEY" in lastbyte(api_url, "campaign", "list", code=4, key="")
    assert "unknown" in lastbyte(api_url, "campaign", "list", code=4, key=new_key())


def test_shells_complete_commands_and_names(api_url: str) -> None:
    def complete(words: str) -> str:
        position = str(words.count(" "))
        bash = {"_LASTBYTE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": position}
        return run(**bash, LASTBYTE_API_URL=api_url, LASTBYTE_API_KEY=KEY).stdout

    assert {"campaign", "capsule"} <= set(complete("lastbyte ca").split())
    assert "compare" in complete("lastbyte campaign comp").split()
    assert "nightly" in complete("lastbyte schedule next n").split()

"""The curl lines of the documents, run as they stand against a real API."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.app import create_app
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.settings import Settings
from tests.integration.api.conftest import serving
from tests.integration.samples import H2, H3, good, proof

ROOT = Path(__file__).parents[3]
STRICT = 'curl() { command curl --fail-with-body "$@"; }\n'
NEEDS_A_FILE = ("$ARTIFACT",)
"""Lines that want what only a worker makes; their own tests have them."""

BODY = {
    "endpoints": ["testbed-caddy-1MB"],
    "profiles": ["baseline", "loss-1"],
    "clients": ["curl-quiche"],
    "rounds": 6,
    "labels": ["nightly"],
}


def commands(document: str) -> list[list[str]]:
    """The curl commands of each shell block, over as many lines as their quotes are open."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", (ROOT / document).read_text(), re.DOTALL):
        whole: list[str] = []
        pending = ""
        for line in block.splitlines():
            pending = f"{pending}\n{line}" if pending else line
            try:
                shlex.split(pending, comments=True)
            except ValueError:
                continue  # a quote is still open
            if pending.startswith("curl "):
                whole.append(pending)
            pending = ""
        found.append(whole)
    return [block for block in found if block]


@pytest.fixture
def base_url(database_url: str, embedded_valkey_url: str) -> Iterator[str]:
    """With the catalogue that the product comes with."""
    with serving(Settings(database_url=database_url, broker_url=embedded_valkey_url), create_app) as url:
        yield url


def run(command: str, base_url: str, folder: Path, **variables: str) -> str:
    environment = {**os.environ, "API": f"{base_url}/api/v1", **variables}
    script = STRICT + command.replace("http://127.0.0.1:8000", base_url)
    result = subprocess.run(
        ["bash", "-uo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def measure(api: httpx.Client, cells: PostgresCellStore, campaign: str) -> int:
    """Make up the trials of all its cells; gives the first one's id."""
    found = [cell["cell_id"] for cell in api.get(f"/campaigns/{campaign}/cells").json()["items"]]
    for cell in found:
        cells.claim(cell, "w", 60)
        cells.store_proof(cell, "w", proof())
        for number in range(1, 7):
            cells.store_trial(cell, "w", good(number, H2, 0.2 + number / 1000))
            cells.store_trial(cell, "w", good(number, H3, 0.15 + number / 1000))
        cells.finish(cell, "w")
    return int(found[0])


def test_every_curl_line_of_the_apis_document_works(
    api: httpx.Client, base_url: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore, tmp_path: Path
) -> None:
    (tmp_path / "body.json").write_text(json.dumps(BODY))
    first, *others = commands("docs/api.md")
    assert sum(len(block) for block in (first, *others)) >= 25
    campaign = api.post("/campaigns", json=BODY).json()["id"]
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    for command in first:
        if not any(word in command for word in NEEDS_A_FILE):
            run(command, base_url, tmp_path, ID=campaign, CELL=str(cell))
    assert api.get(f"/campaigns/{campaign}").status_code == 404  # the last line has deleted it
    old, new = (str(api.post("/campaigns", json=BODY).json()["id"]) for _ in range(2))
    cell = [measure(api, cells, ident) for ident in (old, new)][1]
    printed = [
        run(command, base_url, tmp_path, ID=new, OLD=old, NEW=new, CELL=str(cell))
        for block in others
        for command in block
    ]
    assert any('"verdict": "pass"' in text for text in printed)
    assert list(tmp_path.glob("*.parquet"))


def test_the_readmes_curl_lines_work(api: httpx.Client, base_url: str, tmp_path: Path) -> None:
    lines = [command for block in commands("README.md") for command in block]
    assert lines
    for command in lines:
        run(command, base_url, tmp_path)

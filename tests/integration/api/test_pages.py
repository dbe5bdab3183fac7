"""Trials of whole pages: kept in the database, given by the API, drawn on the cell's page."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from dashboard.client import ApiClient
from dashboard.pages import cell as cell_page
from dashboard.pages.place import Place
from lastbyte.adapters.artifact_files import ArtifactFiles
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.domain.capture import ArtifactKind, CapturePolicy
from lastbyte.domain.page import PageLoad
from lastbyte.domain.trial import Trial
from lastbyte.settings import Settings
from tests.integration.api.conftest import serving
from tests.integration.samples import H2, H3, good, plan, proof
from tests.unit.dashboard.test_page_loads import har


@pytest.fixture
def files(tmp_path: Path) -> ArtifactFiles:
    return ArtifactFiles(tmp_path, 10**8)


@pytest.fixture
def base_url(database_url: str, embedded_valkey_url: str, files: ArtifactFiles) -> Iterator[str]:
    settings = Settings(database_url=database_url, broker_url=embedded_valkey_url, artifacts_dir=files.folder)
    with serving(settings) as url:
        yield url


def page_trial(round_index: int, client: str, load_s: float) -> Trial:
    trial = good(round_index, client, load_s - 0.05)
    protocol = "h3" if client == H3 else "h2"
    page = PageLoad(18, 396_608, 400_779, 1, {protocol: 18}, load_s, 0.2, 0.3, hosts=3, blocked_hosts=("ads.example",))
    return replace(trial, observation=replace(trial.observation, page=page))


def test_a_page_is_told_by_the_api_and_shown_with_its_waterfall(
    base_url: str,
    api: httpx.Client,
    campaigns: PostgresCampaignStore,
    cells: PostgresCellStore,
    files: ArtifactFiles,
) -> None:
    wanted = plan(endpoints=1)
    ident = campaigns.create(replace(wanted, spec=replace(wanted.spec, capture=CapturePolicy.LAST_ROUND)))
    (cell,) = [item.cell_id for item in campaigns.dispatchable_cells(9, ident)]
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    with files.workspace() as folder:
        (folder / "x").write_text(json.dumps(har()))
        kept = files.keep(ArtifactKind.HAR, "page.har", folder / "x")
    for trial in (
        page_trial(1, H2, 0.9),
        page_trial(1, H3, 0.8),
        replace(page_trial(-1, H3, 5.0), artifacts=(kept,)),
    ):
        assert cells.store_trial(cell, "w", trial)

    told = api.get(f"/campaigns/{ident}/trials").json()["items"][0]
    assert told["page"] == {
        "load_ms": pytest.approx(900),
        "fcp_ms": pytest.approx(200),
        "lcp_ms": pytest.approx(300),
        "resources": 18,
        "failed_resources": 0,
        "hosts": 3,
        "body_bytes": 396_608,
        "transferred_bytes": 400_779,
        "connections": 1,
        "protocols": {"h2": 18},
        "blocked_hosts": ["ads.example"],
    }
    assert told["proof"]["downlink"]["sent_packets"] == 90
    assert "page" not in api.get(f"/campaigns/{ident}/trials.csv").text.splitlines()[0].split(",")
    table = pq.read_table(io.BytesIO(api.get(f"/campaigns/{ident}/trials.parquet").content))
    assert json.loads(table.column("page")[0].as_py())["resources"] == 18
    (artifact,) = api.get(f"/campaigns/{ident}/artifacts").json()["items"]
    assert (artifact["kind"], artifact["media_type"]) == ("har", "application/json")

    dashboard = ApiClient(base_url)
    try:
        drawn = cell_page.draw(dashboard, Place("/", {}, "UTC", "light"), ident, cell)
        shown = str(drawn.body()).replace("\\xa0", " ")
    finally:
        dashboard.close()
    assert "The whole page" in shown
    assert "900 ms" in shown
    assert "800 ms" in shown
    assert f"Waterfall: {H3}" in shown
    assert "2 resources, 10 KB, last byte at 800 ms" in shown

"""Artifacts over the API: lists, downloads whole and in parts, and what their client acknowledged."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from lastbyte.adapters.artifact_files import ArtifactFiles
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.domain.capture import Artifact, ArtifactKind, CapturePolicy, dropped
from lastbyte.settings import Settings
from tests.integration.api.conftest import serving
from tests.integration.samples import H2, H3, good, plan, proof

DATA = Path(__file__).parents[2] / "data/traces"
H2_PCAP = gzip.decompress((DATA / "curl-quiche-h2.pcap.gz").read_bytes())


@pytest.fixture
def files(tmp_path: Path) -> ArtifactFiles:
    return ArtifactFiles(tmp_path, 10**8)


@pytest.fixture
def api(database_url: str, embedded_valkey_url: str, files: ArtifactFiles) -> Iterator[httpx.Client]:
    settings = Settings(database_url=database_url, broker_url=embedded_valkey_url, artifacts_dir=files.folder)
    with serving(settings) as url, httpx.Client(base_url=f"{url}/api/v1", timeout=30) as client:
        yield client


def keep(files: ArtifactFiles, kind: ArtifactKind, name: str, content: bytes) -> Artifact:
    with files.workspace() as folder:
        (folder / "x").write_bytes(content)
        return files.keep(kind, name, folder / "x")


@pytest.fixture
def campaign(
    api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore, files: ArtifactFiles
) -> str:
    wanted = plan(endpoints=1)
    ident = campaigns.create(replace(wanted, spec=replace(wanted.spec, capture=CapturePolicy.LAST_ROUND)))
    (cell,) = [item.cell_id for item in campaigns.dispatchable_cells(9, ident)]
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    quic = gzip.decompress((DATA / "curl-quiche-h3.pcap.gz").read_bytes())
    keys = (DATA / "curl-quiche-h3.keys.txt").read_bytes()
    h2 = (keep(files, ArtifactKind.PCAP, "h2.pcap", H2_PCAP),)
    h3 = (
        keep(files, ArtifactKind.PCAP, "h3.pcap", quic),
        keep(files, ArtifactKind.KEYLOG, "h3.keys.txt", keys),
        dropped(ArtifactKind.QLOG, "h3.sqlog", "It has 500.0 MB, the limit is 128 MB."),
    )
    for trial in (good(1, H2), replace(good(-1, H2), artifacts=h2), replace(good(-1, H3), artifacts=h3)):
        assert cells.store_trial(cell, "w", trial)
    return ident


def test_a_campaigns_artifacts_are_listed_with_their_digests(api: httpx.Client, campaign: str) -> None:
    page = api.get(f"/campaigns/{campaign}/artifacts").json()
    assert page["total"] == 4
    assert [item["kind"] for item in page["items"]] == ["pcap", "pcap", "keylog", "qlog"]
    assert page["items"][3]["dropped_reason"].startswith("It has 500.0 MB")
    assert page["items"][3]["download"] is None
    trial = page["items"][0]["trial_id"]
    assert api.get(f"/campaigns/{campaign}/artifacts", params={"trial": trial}).json()["total"] == 1
    assert api.get(f"/campaigns/{campaign}").json()["capture"] == "last-round"
    marks = [(t["round"], t["capture"]) for t in api.get(f"/campaigns/{campaign}/trials").json()["items"]]
    assert marks == [(1, False), (-1, True), (-1, True)]
    lines = api.get(f"/campaigns/{campaign}/trials.csv").text.splitlines()
    assert "capture" in lines[0].split(",")


def test_a_file_comes_whole_in_parts_and_not_again(api: httpx.Client, campaign: str) -> None:
    item = api.get(f"/campaigns/{campaign}/artifacts").json()["items"][0]
    url = f"/artifacts/{item['id']}"
    whole = api.get(url)
    assert whole.content == H2_PCAP
    assert whole.headers["content-disposition"] == 'attachment; filename="h2.pcap"'
    assert whole.headers["accept-ranges"] == "bytes"
    part = api.get(url, headers={"Range": "bytes=24-123"})
    assert (part.status_code, part.content) == (206, H2_PCAP[24:124])
    assert part.headers["content-range"] == f"bytes 24-123/{len(H2_PCAP)}"
    assert api.get(url, headers={"Range": "bytes=99999999-"}).status_code == 416
    assert api.get(url, headers={"If-None-Match": whole.headers["etag"]}).status_code == 304
    stale = api.get(url, headers={"Range": "bytes=0-9", "If-Range": '"other"'})
    assert (stale.status_code, len(stale.content)) == (200, len(H2_PCAP))
    kept = api.get(url, params={"compressed": "true"})
    assert hashlib.sha256(kept.content).hexdigest() == item["sha256"]
    assert kept.headers["etag"] != whole.headers["etag"]


def test_a_file_that_is_not_there_says_why(api: httpx.Client, campaign: str, files: ArtifactFiles) -> None:
    items = api.get(f"/campaigns/{campaign}/artifacts").json()["items"]
    gone = api.get(f"/artifacts/{items[3]['id']}")
    assert gone.status_code == 410
    assert "limit is 128 MB" in gone.json()["detail"]
    for file in files.folder.glob("*/*.gz"):
        file.unlink()
    away = api.get(f"/artifacts/{items[0]['id']}")
    assert away.status_code == 410
    assert items[0]["vantage"] == "local"
    assert "vantage 'local'" in away.json()["detail"]
    assert "vantage 'local'" in api.get(f"/trials/{items[0]['trial_id']}/acks").json()["problem"]["detail"]
    assert api.get("/artifacts/999999").status_code == 404


def test_h2_and_h3_of_a_cell_come_together(api: httpx.Client, campaign: str) -> None:
    trials = api.get(f"/campaigns/{campaign}/trials").json()["items"]
    h2, h3 = api.get(f"/cells/{trials[0]['cell_id']}/acks").json()["trials"]
    assert (h2["protocol"], h3["protocol"]) == ("h2", "h3")
    assert (h2["trace"]["source"], h3["trace"]["source"]) == ("pcap", "pcap and key log")
    for trial in (h2, h3):
        assert len(trial["trace"]["at_ms"]) == len(trial["trace"]["acked_bytes"]) == trial["figures"]["acks"]
        assert trial["trace"]["acked_bytes"][-1] == pytest.approx(100_000, rel=0.06)
    one = api.get(f"/trials/{trials[1]['id']}/acks", params={"stall_ms": 1}).json()
    assert one["trial_id"] == h2["trial_id"]
    assert len(one["figures"]["stalls"]) > len(h2["figures"]["stalls"])


def test_a_trial_that_was_not_watched_says_so(api: httpx.Client, campaign: str) -> None:
    counted = api.get(f"/campaigns/{campaign}/trials").json()["items"][0]
    found = api.get(f"/trials/{counted['id']}/acks").json()
    assert found["problem"]["kind"] == "not-captured"
    assert api.get("/trials/999999/acks").status_code == 404
    assert api.get("/cells/999999/acks").status_code == 404
    assert api.post("/campaigns", json={"capture": "always"}).status_code == 422

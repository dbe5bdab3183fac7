"""What watched trials leave: files and rows that agree, whatever happens in between."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from lastbyte.adapters.artifact_files import ArtifactFiles
from lastbyte.adapters.postgres.artifact_store import PostgresArtifactStore
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.capture import Artifact, ArtifactKind, CapturePolicy, dropped
from lastbyte.domain.errors import Gone, NotFound
from lastbyte.ports import ArtifactFilter
from lastbyte.services.artifact_upkeep import tidy
from tests.integration.samples import H2, H3, good, plan, proof


@pytest.fixture
def files(tmp_path: Path) -> ArtifactFiles:
    return ArtifactFiles(tmp_path / "artifacts", max_bytes=1_000_000)


@pytest.fixture
def artifacts(engine: Engine) -> PostgresArtifactStore:
    return PostgresArtifactStore(engine)


def keep(files: ArtifactFiles, content: bytes, name: str = "a.pcap") -> Artifact:
    with files.workspace() as folder:
        (folder / "x").write_bytes(content)
        return files.keep(ArtifactKind.PCAP, name, folder / "x")


def stored(campaigns: PostgresCampaignStore, cells: PostgresCellStore, *left: Artifact) -> tuple[str, int]:
    wanted = plan(endpoints=1)
    wanted = replace(wanted, spec=replace(wanted.spec, capture=CapturePolicy.LAST_ROUND))
    campaign_id = campaigns.create(wanted)
    (cell,) = [open_cell.cell_id for open_cell in campaigns.dispatchable_cells(9, campaign_id)]
    claimed = cells.claim(cell, "w", 60)
    assert claimed is not None
    assert claimed.capture is CapturePolicy.LAST_ROUND
    cells.store_proof(cell, "w", proof())
    for trial in (good(1, H2), good(1, H3), replace(good(-1, H3), artifacts=left)):
        assert cells.store_trial(cell, "w", trial)
    return campaign_id, cell


def test_rows_tell_the_trial_and_the_file(
    campaigns: PostgresCampaignStore,
    cells: PostgresCellStore,
    results: PostgresResultStore,
    artifacts: PostgresArtifactStore,
    files: ArtifactFiles,
) -> None:
    campaign_id, cell = stored(campaigns, cells, keep(files, b"x" * 5000), dropped(ArtifactKind.QLOG, "a.sqlog", "why"))
    page = artifacts.page(ArtifactFilter(campaign_id=campaign_id), 10, None)
    assert page.total == 2
    first, second = page.items
    assert artifacts.get(first.id) == first
    assert (first.cell_id, first.client_id, first.round_index) == (cell, H3, -1)
    assert first.artifact.raw_bytes == 5000
    assert first.artifact.byte_size < 100
    assert files.content(first.artifact, first.vantage) == b"x" * 5000
    with pytest.raises(Gone, match="why"):
        files.content(second.artifact, second.vantage)
    assert (second.artifact.dropped_reason, second.artifact.location) == ("why", "")
    # the trial is planned, stored and shown, and enters no comparison
    assert campaigns.get(campaign_id).progress.trials_planned == 2 * 4
    assert [t.trial.round_index for t in results.all_trials(campaign_id)] == [1, 1, -1]
    assert {o.round_index for o in results.outcomes(campaign_id, [H2, H3])} == {1}
    with pytest.raises(NotFound):
        artifacts.get(10**9)


def test_a_second_delivery_adds_nothing(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, artifacts: PostgresArtifactStore, files: ArtifactFiles
) -> None:
    left = keep(files, b"packets")
    campaign_id, cell = stored(campaigns, cells, left)
    again = cells.claim(cell, "w", 60)
    assert again is not None
    assert (-1, H3) in again.done
    assert cells.store_trial(cell, "w", replace(good(-1, H3), artifacts=(left,)))
    assert artifacts.page(ArtifactFilter(campaign_id=campaign_id), 10, None).total == 1


def test_old_artifacts_go_and_say_so(
    engine: Engine,
    campaigns: PostgresCampaignStore,
    cells: PostgresCellStore,
    artifacts: PostgresArtifactStore,
    files: ArtifactFiles,
) -> None:
    campaign_id, _ = stored(campaigns, cells, keep(files, b"packets"))
    assert tidy(artifacts, files, days=14) == (0, 0)
    with engine.begin() as connection:
        connection.execute(text("UPDATE artifacts SET created_at = now() - interval '15 days'"))
        connection.execute(text("UPDATE campaigns SET source = '{}'"))
    assert tidy(artifacts, files, days=14) == (0, 0), "an imported campaign's"
    with engine.begin() as connection:
        connection.execute(text("UPDATE campaigns SET source = NULL"))
    location = artifacts.page(ArtifactFilter(campaign_id=campaign_id), 1, None).items[0].artifact.location
    long_ago = time.time() - 15 * 86400
    os.utime(files.folder / location, (long_ago, long_ago))
    assert tidy(artifacts, files, days=14) == (1, 1)
    (record,) = artifacts.page(ArtifactFilter(campaign_id=campaign_id), 10, None).items
    assert record.artifact.dropped_reason == "Removed after 14 days."
    assert files.size_bytes() == 0


def test_a_file_whose_row_never_came_is_swept_and_a_young_one_is_not(
    artifacts: PostgresArtifactStore, files: ArtifactFiles
) -> None:
    orphan, young = keep(files, b"orphan"), keep(files, b"young")
    long_ago = time.time() - 7200
    os.utime(files.folder / orphan.location, (long_ago, long_ago))
    assert tidy(artifacts, files, days=14) == (0, 1)
    assert not (files.folder / orphan.location).exists()
    assert (files.folder / young.location).exists()


def test_a_cell_that_leaves_captures_out_is_still_complete(
    campaigns: PostgresCampaignStore, cells: PostgresCellStore, files: ArtifactFiles
) -> None:
    campaign_id, cell = stored(campaigns, cells, keep(files, b"packets"))
    cells.finish(cell, "w")
    progress = campaigns.get(campaign_id).progress
    assert progress.trials_done + progress.trials_saved == progress.trials_planned

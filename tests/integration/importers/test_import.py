from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine

from lastbyte.adapters.importers import trial_csv, trial_lines
from lastbyte.adapters.importers.reading import ReadOptions, read_results
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.import_store import PostgresImportStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.errors import InvalidInput
from lastbyte.services.heatmap import Heatmaps
from lastbyte.services.imported import ImportedResults, OnError, accept
from lastbyte.services.places import IMPORTED_NOTE
from lastbyte.services.replay import paired_mode, paper_mode, replay
from lastbyte.settings import Settings
from tests.data import make_samples
from tests.integration.api.conftest import serving
from tests.integration.importers.states import heatmap_json, row_counts
from tests.integration.samples import CLIENTS, ENDPOINTS, H2, PROFILES

DATA = Path(make_samples.__file__).parent
OWN = ReadOptions(endpoints=ENDPOINTS, profiles={p.name: p for p in PROFILES}, clients=CLIENTS)


def store(engine: Engine, results: ImportedResults, name: str = "old") -> str:
    source = {"kind": "import", "format": results.format, "origin": results.origin, "imported_at": datetime.now(UTC)}
    return PostgresImportStore(engine).store(results, name, source)


def timings() -> ImportedResults:
    return accept(read_results(DATA / "timings", ReadOptions()), OnError.REFUSE)


def export(engine: Engine, campaign_id: str, kind: str) -> str:
    results = PostgresResultStore(engine)
    trials = results.all_trials(campaign_id)
    if kind == "csv":
        return "".join(trial_csv.write_rows(trials))
    campaign = PostgresCampaignStore(engine).get(campaign_id)
    return "".join(trial_lines.write_lines(campaign, results.arms(campaign_id), results.cells(campaign_id), trials))


def test_timings_show_in_the_same_heatmaps(engine: Engine) -> None:
    results = timings()
    campaign_id = store(engine, results)
    campaign = PostgresCampaignStore(engine).get(campaign_id)
    assert campaign.state == "done"
    assert campaign.source is not None
    assert campaign.source["kind"] == "import"
    assert campaign.spec.vantage == "imported"
    assert (campaign.progress.trials_done, campaign.progress.trials_planned) == (2250, 2250)
    stored = Heatmaps(PostgresCampaignStore(engine), PostgresResultStore(engine)).of(campaign_id)
    assert (stored.baseline, stored.candidate) == ("chrome_h2", "chrome_h3")
    assert stored.origin_note == IMPORTED_NOTE
    direct = replay(results, paired_mode(results))
    numbers = {
        (provider.provider, cell.cell.endpoint.size_label, cell.cell.profile.name): (
            cell.diff_pct, cell.ci_low_pct, cell.ci_high_pct, cell.n,
        )
        for provider in stored.providers
        for cell in provider.cells
    }  # fmt: skip
    assert len(numbers) == 45
    for provider in direct.providers:
        for item in provider.cells:
            square = item.square
            assert numbers[provider.provider, item.size_label, item.profile.name] == (
                square.diff_pct, square.ci_low_pct, square.ci_high_pct, 10,
            )  # fmt: skip
    verdicts = {cell.verdict for provider in stored.providers for cell in provider.cells}
    assert verdicts == {"unproven"}  # nobody proved these links


def test_imported_names_are_not_offered_for_measuring(engine: Engine) -> None:
    catalogue = PostgresCatalogue(engine)
    catalogue.sync(ENDPOINTS, PROFILES, CLIENTS)
    store(engine, timings())
    assert catalogue.endpoints() == ENDPOINTS
    assert catalogue.profiles() == PROFILES
    assert catalogue.clients() == CLIENTS
    assert PostgresCampaignStore(engine).dispatchable_cells(10) == []


def test_sockets_are_stored_with_their_phases_and_times(engine: Engine) -> None:
    campaign_id = store(engine, accept(read_results(DATA / "sockets", ReadOptions()), OnError.REFUSE))
    trials = list(PostgresResultStore(engine).all_trials(campaign_id))
    assert len(trials) == 20
    first = min(trials, key=lambda item: (item.trial.observation.started_at, item.trial.client_id))
    assert first.trial.observation.started_at == datetime(2021, 3, 8, 8, 20, tzinfo=UTC)
    timings = first.trial.observation.timings
    assert timings is not None
    assert timings.handshake_s == pytest.approx(0.018)


def test_all_or_nothing(engine: Engine) -> None:
    results = timings()
    last = results.cells[-1]
    twice = replace(last, trials=(*last.trials, last.trials[0]))
    before = row_counts(engine)
    with pytest.raises(InvalidInput, match="nothing was"):
        store(engine, replace(results, cells=(*results.cells[:-1], twice)))
    assert row_counts(engine) == before


def test_yu_modes_on_the_samples() -> None:
    results = timings()
    for name in ("yu2020", "yu2021"):
        heatmap = replay(results, paper_mode(name))
        for provider in heatmap.providers:
            for item in provider.cells:
                effect = make_samples.NETWORKS[item.profile.name] * make_samples.PROVIDERS[provider.provider]
                assert item.square.diff_pct == pytest.approx(effect, abs=0.01)
                assert item.square.baseline is not None
                assert item.square.baseline.client == "chrome_h2"
                assert item.square.shown is (name == "yu2020" or abs(item.square.diff_pct or 0) >= 5)
                assert item.square.clients_pct is not None
                assert item.square.clients_pct["proxygen_h3"] == pytest.approx(4, abs=0.01)


def test_json_lines_are_exact(engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path) -> None:
    file = tmp_path / "trials.jsonl"
    file.write_text(export(engine, measured, "jsonl"))
    results = accept(read_results(file, ReadOptions()), OnError.REFUSE)
    assert results.interleaved
    again = store(elsewhere, results)
    before, after = heatmap_json(engine, measured), heatmap_json(elsewhere, again)
    for document in (before, after):
        del document["campaign_id"], document["origin_note"]
    assert before == after
    one, two = (
        [(t.trial, t.build) for t in PostgresResultStore(db).all_trials(ident)]
        for db, ident in ((engine, measured), (elsewhere, again))
    )
    assert sorted(one, key=str) == sorted(two, key=str)


def test_csv_keeps_the_heatmap(engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path) -> None:
    file = tmp_path / "trials.csv"
    file.write_text(export(engine, measured, "csv"), newline="")
    results = accept(read_results(file, OWN), OnError.REFUSE)
    assert results.trials == 2 * 2 * 2 * 8
    stored = heatmap_json(engine, measured)
    cells = {
        (item["endpoint"], item["profile"]): item for provider in stored["providers"] for item in provider["cells"]
    }
    heatmap = replay(results, paired_mode(results))
    for cell, ours in zip(results.cells, (paired_mode(results).square(c, {}, {}) for c in results.cells), strict=True):
        assert len(cell.ttlb_s(H2)) == 7
        assert ours.pairing == "rounds"
    squares = [item.square for provider in heatmap.providers for item in provider.cells]
    assert sorted(s.diff_pct or 0 for s in squares) == pytest.approx(sorted(c["diff_pct"] for c in cells.values()))
    assert {s.pairing for s in squares} == {"rounds"}
    store(elsewhere, results)


def test_the_csv_is_the_one_of_the_api(
    engine: Engine, measured: str, database_url: str, embedded_valkey_url: str
) -> None:
    settings = Settings(database_url=database_url, broker_url=embedded_valkey_url)
    with serving(settings) as url:
        theirs = httpx.get(f"{url}/api/v1/campaigns/{measured}/trials.csv", timeout=30).text
        campaign = httpx.get(f"{url}/api/v1/campaigns/{measured}", timeout=30).json()
    assert export(engine, measured, "csv") == theirs
    assert campaign["source"] is None


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_truncated_exports_are_refused(engine: Engine, measured: str, tmp_path: Path, kind: str) -> None:
    whole = export(engine, measured, kind)
    file = tmp_path / f"trials.{kind}"
    lengths = [0, 10, 200, len(whole) // 2, len(whole) - 3]
    if kind == "jsonl":  # also where a line ends
        lengths += [sum(len(line) for line in whole.splitlines(keepends=True)[:n]) for n in (1, 5, 64)]
    for length in lengths:
        file.write_text(whole[:length], newline="")
        with pytest.raises(InvalidInput, match=r"trials\.(csv|jsonl)"):
            accept(read_results(file, OWN), OnError.SKIP)


def test_bad_lines_are_named_or_skipped(engine: Engine, measured: str, tmp_path: Path) -> None:
    lines = export(engine, measured, "jsonl").splitlines(keepends=True)
    row = json.loads(lines[7])
    for change, said in (
        ({"ttlb_s": -1.0}, "line 8: ttlb_s"),
        ({"ttlb_s": None}, "line 8: ttlb"),
        ({"ttlb_s": "0.1"}, "line 8: ttlb_s"),
        ({"cell": 99}, "line 8: cell"),
        ({"client": "netcat"}, "line 8: client"),
        ({"outcome": "lost"}, "line 8: outcome"),
        ({"round": 1.5}, "line 8: round"),
        ({"started_at": None}, "line 8: started_at"),
        ({"headers": [1]}, "line 8: headers"),
        ({"proof": {"downlink": None}}, "line 8: proof"),
        ({"build": {}}, "line 8: build"),
        ({"failure_detail": "\ud800"}, "line 8: .*surrogate"),
    ):
        lines[7] = json.dumps({**row, **change}) + "\n"
        file = tmp_path / "trials.jsonl"
        file.write_text("".join(lines))
        results = read_results(file, ReadOptions())
        with pytest.raises(InvalidInput, match=f"(?s)nothing was taken.*{said}"):
            accept(results, OnError.REFUSE)
        assert accept(results, OnError.SKIP).trials == 63


def test_bad_rows_are_named_or_skipped(engine: Engine, measured: str, tmp_path: Path) -> None:
    whole = export(engine, measured, "csv")
    header, first, *_ = whole.splitlines()
    file = tmp_path / "trials.csv"
    for old, new, said in (
        ("testbed-caddy-100KB", "nowhere", "line 2: endpoint"),
        ("baseline", "nothing", "line 2: profile"),
        (H2, "netcat", "line 2: client"),
        (",ok,", ",fine,", "line 2: outcome"),
        ("100.0,", "fast,", "line 2: ttlb_ms"),
        ("100.0,", "-100.0,", "line 2: ttlb_s"),
        ("100.0,", "nan,", "line 2: ttlb_s"),
        (",ok,", ",ok,ok,", "line 2: has"),
    ):
        assert old in first
        file.write_text(whole.replace(first, first.replace(old, new, 1)), newline="")
        results = read_results(file, OWN)
        with pytest.raises(InvalidInput, match=f"(?s)nothing was taken.*{said}"):
            accept(results, OnError.REFUSE)
        assert accept(results, OnError.SKIP).trials == 63
    file.write_text(whole.replace("ttlb_ms", "ttlb"), newline="")
    with pytest.raises(InvalidInput, match="lacks the columns ttlb_ms"):
        read_results(file, OWN)
    assert header.startswith("id,")
    assert io.StringIO(whole).readline().endswith("\r\n") or "\r" not in whole

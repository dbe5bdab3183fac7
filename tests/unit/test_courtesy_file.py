from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lastbyte.adapters.courtesy_file import CourtesyFile
from lastbyte.domain.courtesy import CourtesyBudget
from lastbyte.domain.errors import Unavailable

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_requests_of_all_runs_count_to_one_days_budget(tmp_path: Path) -> None:
    file, budget = tmp_path / "new" / "courtesy.json", CourtesyBudget(3, 10**9, 0.2)
    runs = [CourtesyFile("a.test", budget, file, lambda: NOON) for _ in range(2)]
    assert [runs[i % 2].reserve().granted for i in range(3)] == [True] * 3
    refused = runs[0].reserve()
    assert not refused.granted
    assert refused is runs[0].refused
    assert "a.test is used up (3 of 3 requests" in refused.reason
    assert refused.not_before == datetime(2026, 5, 2, tzinfo=UTC)
    assert CourtesyFile("b.test", budget, file, lambda: NOON).reserve().granted
    assert CourtesyFile("a.test", budget, file, lambda: NOON + timedelta(hours=13)).reserve().granted


def test_bytes_count_and_a_pause_is_kept_between_runs(tmp_path: Path) -> None:
    file, budget = tmp_path / "courtesy.json", CourtesyBudget(100, 1000, 0.2)
    first = CourtesyFile("a.test", budget, file, lambda: NOON)
    assert first.reserve().wait_s == 0
    first.ended(999)
    second = CourtesyFile("a.test", budget, file, lambda: NOON + timedelta(seconds=0.05))
    assert second.reserve().wait_s == pytest.approx(0.15)
    second.ended(1)
    assert not second.reserve().granted


@pytest.mark.parametrize("text", ["", "{", "[]", '{"day": "2026-05-01", "hosts": {"a.test": 3}}', "\x00"])
def test_a_broken_file_counts_as_empty(tmp_path: Path, text: str) -> None:
    file = tmp_path / "courtesy.json"
    file.write_text(text)
    assert CourtesyFile("a.test", CourtesyBudget(1), file, lambda: NOON).reserve().granted
    assert not CourtesyFile("a.test", CourtesyBudget(1), file, lambda: NOON).reserve().granted


def test_a_disk_that_is_full_loses_no_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, budget = tmp_path / "courtesy.json", CourtesyBudget(2, 10**9, 0)
    assert CourtesyFile("a.test", budget, file, lambda: NOON).reserve().granted

    def full(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(Unavailable, match="No space left on device"):
            CourtesyFile("a.test", budget, file, lambda: NOON).reserve()
    granted = [CourtesyFile("a.test", budget, file, lambda: NOON).reserve().granted for _ in range(2)]
    assert granted == [True, False]


def test_runs_at_the_same_time_lose_no_count(tmp_path: Path) -> None:
    file, budget = tmp_path / "courtesy.json", CourtesyBudget(1000, 10**9, 0)
    with ThreadPoolExecutor(8) as pool:
        granted = list(pool.map(lambda _: CourtesyFile("a.test", budget, file).reserve().granted, range(1100)))
    assert granted.count(True) == 1000


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file")
    with pytest.raises(Unavailable, match="LASTBYTE_CACHE"):
        CourtesyFile("a.test", CourtesyBudget(), tmp_path / "a" / "courtesy.json").reserve()

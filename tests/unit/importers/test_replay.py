from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from lastbyte.adapters.importers.timings import read_timings
from lastbyte.cli.heatmap import colour
from lastbyte.domain.errors import InvalidInput
from lastbyte.services.imported import ImportedResults
from lastbyte.services.replay import paired_mode, paper_mode, replay
from lastbyte.stats.paired import Verdict
from lastbyte.stats.unpaired import compare_unpaired
from tests.data import make_samples

SAMPLES = Path(make_samples.__file__).parent / "timings"
GENERATOR = random.Random(4)  # noqa: S311 - reproducible
H2 = [1 + GENERATOR.random() / 10 for _ in range(20)]


def one_network() -> ImportedResults:
    return read_timings(SAMPLES / "loss-1_delay-0_bw-10")


def test_unequal_counts_are_compared_unpaired_and_said_so() -> None:
    results = one_network()
    cell = results.cells[0]
    shorter = replace(cell, trials=tuple(t for t in cell.trials if t.client_id != "chrome_h3" or t.round_index < 9))
    mixed = replace(results, cells=(shorter, *results.cells[1:]))
    heatmap = replay(mixed, paired_mode(mixed))
    squares = [item.square for provider in heatmap.providers for item in provider.cells]
    assert sorted(square.pairing or "" for square in squares) == ["index"] * 8 + ["unpaired"]
    assert any("unpaired samples" in note for note in heatmap.notes)
    assert any("place in the files" in note for note in heatmap.notes)


def test_which_clients_are_compared() -> None:
    results = one_network()
    assert "ngtcp2_h3 against curl_h2" in paired_mode(results, "curl_h2", "ngtcp2_h3").caption
    assert "chrome_h3 against chrome_h2" in paired_mode(results).caption
    with pytest.raises(InvalidInput, match="Known: chrome_h2"):
        paired_mode(results, "netscape")
    h3_only = replace(results, clients=results.clients[2:])
    with pytest.raises(InvalidInput, match="no h2 client"):
        paired_mode(h3_only)


def test_firefox_is_left_out_of_the_paper_modes(tmp_path: Path) -> None:
    folder = tmp_path / "loss-0_delay-0_bw-10" / "google" / "1MB"
    folder.mkdir(parents=True)
    for client, text in (("firefox_h3", "[100, 101]"), ("chrome_h3", "[150, 151]"), ("curl_h2", "[140, 141]")):
        (folder / f"{client}.json").write_text(text)
    results = read_timings(tmp_path)
    ((item,),) = (provider.cells for provider in replay(results, paper_mode("yu2021")).providers)
    assert item.square.candidate is not None
    assert item.square.candidate.client == "chrome_h3"


def test_cells_without_one_side_have_no_number(tmp_path: Path) -> None:
    folder = tmp_path / "loss-0_delay-0_bw-10" / "google" / "1MB"
    folder.mkdir(parents=True)
    (folder / "curl_h2.json").write_text("[140, 141]")
    results = read_timings(tmp_path)
    for mode in ("yu2020", "yu2021"):
        ((item,),) = (provider.cells for provider in replay(results, paper_mode(mode)).providers)
        assert item.square.diff_pct is None


def test_unpaired_differences() -> None:
    slower = compare_unpaired(H2, [time * 1.2 for time in H2])
    assert slower.diff_pct == pytest.approx(20)
    assert slower.verdict is Verdict.H2_FASTER
    assert compare_unpaired(H2, [time * 0.8 for time in H2[:12]]).verdict is Verdict.H3_FASTER
    assert compare_unpaired([1.0] * 8, [1.01] * 9).verdict is Verdict.EQUIVALENT
    assert compare_unpaired(H2, []).verdict is Verdict.NO_DATA
    assert compare_unpaired(H2, [1.0]).verdict is Verdict.INCONCLUSIVE
    assert compare_unpaired(H2[:4], H2[:5]).verdict is Verdict.INCONCLUSIVE
    assert compare_unpaired(H2, H2[:15]) == compare_unpaired(H2, H2[:15])
    with pytest.raises(ValueError, match="above zero"):
        compare_unpaired(H2, [0.0, 1.0])


def test_unpaired_intervals_cover() -> None:
    generator = random.Random(5)  # noqa: S311 - reproducible
    covered = 0
    for _ in range(60):
        one = [generator.lognormvariate(0, 0.1) for _ in range(25)]
        two = [generator.lognormvariate(0.1, 0.1) for _ in range(30)]
        result = compare_unpaired(one, two)
        assert result.ci_low_pct is not None
        assert result.ci_high_pct is not None
        covered += result.ci_low_pct <= 10.517 <= result.ci_high_pct
    assert covered >= 52  # 57 of 60 expected; fewer than 52 happens by chance once in 100


def test_colours() -> None:
    assert colour(0, 20) == (255, 255, 255)
    assert colour(-20, 20) == colour(-99, 20) == (0, 0, 255)
    assert colour(20, 20) == (255, 0, 0)
    assert colour(10, 20) == (255, 128, 128)

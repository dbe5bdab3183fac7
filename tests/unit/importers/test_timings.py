from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.adapters.importers.files import Unreadable
from lastbyte.adapters.importers.reading import ReadOptions, read_results
from lastbyte.adapters.importers.timings import (
    parse_times,
    profile_of,
    protocol_of,
    read_timings,
    why_wrong_units,
)
from lastbyte.domain.client import Protocol
from lastbyte.domain.errors import InvalidInput
from lastbyte.services.imported import OnError, accept
from tests.data import make_samples

SAMPLES = Path(make_samples.__file__).parent / "timings"
CELL = Path("loss-0dot1_delay-50_bw-10/facebook/100KB")


def write(folder: Path, text: str | bytes, name: str = "chrome_h3.json", cell: Path = CELL) -> Path:
    file = folder / cell / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_the_committed_samples_are_what_the_script_writes() -> None:
    for path, content in (make_samples.timings() | make_samples.sockets()).items():
        assert (make_samples.HERE / path).read_text() == content, path


def test_every_sample_becomes_a_trial_with_its_number() -> None:
    results = accept(read_timings(SAMPLES), OnError.REFUSE)
    assert len(results.cells) == 5 * 3 * 3
    assert results.trials == 45 * 5 * 10
    assert [client.id for client in results.clients] == [
        "chrome_h2", "curl_h2", "chrome_h3", "ngtcp2_h3", "proxygen_h3",
    ]  # fmt: skip
    for cell in results.cells:
        for client in results.clients:
            provider, size = cell.endpoint.provider, cell.endpoint.size_label
            expected = make_samples.times_ms(cell.profile.name, provider, size, client.id)
            assert cell.ttlb_s(client.id) == [ms / 1000 for ms in expected]


@pytest.mark.parametrize(
    ("name", "loss_pct", "delay_ms", "rate"),
    [
        ("loss-0dot1_delay-0_bw-10", 0.1, 0, 10),
        ("loss-1_delay-0_bw-100", 1, 0, 100),
        ("loss-0_delay-100_bw-10", 0, 100, 10),
        ("loss-2dot5_delay-12dot5_bw-0", 2.5, 12.5, None),
        ("revised_loss-1burst_delay-0_bw-10", 1, 0, 10),
        ("loss-0_delay-100jitter_bw-100", 0, 100, 100),
    ],
)
def test_network_names(name: str, loss_pct: float, delay_ms: float, rate: float | None) -> None:
    profile = profile_of(name)
    assert (profile.name, profile.loss_pct, profile.extra_rtt_ms, profile.rate_mbit_s) == (
        name, loss_pct, delay_ms, rate,
    )  # fmt: skip
    profile.validate()


@given(st.integers(0, 100), st.integers(0, 999), st.integers(0, 9999), st.integers(1, 1000))
def test_network_names_by_property(loss: int, fraction: int, delay: int, rate: int) -> None:
    if loss == 100:
        fraction = 0
    profile = profile_of(f"loss-{loss}dot{fraction:03d}_delay-{delay}_bw-{rate}")
    assert profile.loss_pct == float(f"{loss}.{fraction:03d}")
    assert (profile.extra_rtt_ms, profile.rate_mbit_s) == (delay, rate)


@pytest.mark.parametrize("name", ["LTE", "loss-x_delay-0_bw-10", "loss-0_delay-0", "loss-101_delay-0_bw-10", ""])
def test_odd_network_names_are_refused(name: str) -> None:
    with pytest.raises(Unreadable, match="folder name"):
        profile_of(name)


@pytest.mark.parametrize(
    ("client", "protocol"),
    [
        ("chrome_h3", "h3"), ("curl_h2", "h2"), ("curl-quiche-h2", "h2"), ("ngtcp2_h3", "h3"), ("ngtcp2", "h3"),
        ("proxygen_http3", "h3"), ("node-tcp", "h2"), ("quic", "h3"), ("Chrome-H3", "h3"),
    ],
)  # fmt: skip
def test_protocols_by_name(client: str, protocol: str) -> None:
    assert protocol_of(client, {}) == protocol


def test_protocols_that_no_name_tells() -> None:
    for name in ("chrome", "h2_h3"):
        with pytest.raises(Unreadable, match=f"--protocol {name}=h2"):
            protocol_of(name, {})
    assert protocol_of("chrome", {"chrome": Protocol.H3}) is Protocol.H3


times = st.lists(st.floats(min_value=1e-3, max_value=1e9), min_size=1, max_size=50)


@given(times)
def test_times_come_back_to_the_last_digit(values: list[float]) -> None:
    assert parse_times(json.dumps(values)) == values


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(json_values | st.lists(json_values, max_size=5))
def test_any_json_is_times_or_refused_with_a_reason(document: object) -> None:
    try:
        read = parse_times(json.dumps(document))
    except Unreadable as exc:
        read, said = [1.0], exc.reason
    else:
        said = "fine"
    assert said.strip()
    assert read
    assert all(isinstance(value, float) and 0 < value < float("inf") for value in read)


@given(st.text(max_size=200))
def test_any_text_is_times_or_refused_with_a_reason(text: str) -> None:
    try:
        parse_times(text)
    except Unreadable as exc:
        said = exc.reason
    else:
        said = "fine"
    assert said.strip()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the file is empty"),
        ("[150.0, 151.", "line 1 column .*truncated"),
        ("[150,\n151,\n", "line 3 column 1.*truncated|line 2 column .*truncated"),
        ("[150 151]", "line 1 column 6: is not JSON"),
        ("[]", "the array is empty"),
        ("{}", "not an array"),
        ("[150, -1, 150]", "value 2: -1 is not a time above zero"),
        ("[150, 0]", "value 2"),
        ('[150, "151"]', "value 2: '151' is not a number"),
        ("[150, null]", "value 2: None is not a number"),
        ("[150, true]", "value 2: True is not a number"),
        ("[150, NaN]", "NaN"),
        ("[150, Infinity]", "Infinity"),
        ("[150, 1e999]", "value 2: inf is not a finite number"),
        ("[" + "9" * 400 + "]", "value 1: the number is too large"),
        ("[" * 100_000, "nested too deeply|truncated"),
        (b"[150, \xff]", "byte 6: is not UTF-8"),
        ("[0.152, 0.149, 0.151]", "wrong units.*seconds"),
        ("[152000000, 149000000]", "wrong units.*microseconds"),
        ("[45, 47]", "wrong units.*round trip alone takes 50 ms"),
    ],
)
def test_bad_files_are_named_with_place_and_reason(tmp_path: Path, text: str | bytes, said: str) -> None:
    write(tmp_path, "[152.1, 149.8, 151.0]", "curl_h2.json")
    file = write(tmp_path, text)
    results = read_results(tmp_path, ReadOptions())
    with pytest.raises(InvalidInput, match=rf"(?s)nothing was taken:\s+{file}: (.*{said})"):
        accept(results, OnError.REFUSE)
    rest = accept(results, OnError.SKIP)
    assert [client.id for client in rest.clients] == ["curl_h2"]
    assert rest.trials == 3
    assert len(rest.bad) == 1


def test_seconds_beside_milliseconds_are_noticed(tmp_path: Path) -> None:
    cell = Path("loss-0_delay-0_bw-10/facebook/5MB")
    write(tmp_path, "[4300, 4310, 4290]", "curl_h2.json", cell)
    write(tmp_path, "[43.0, 43.1, 42.9]", "chrome_h3.json", cell)  # hundredths, yet above 10
    assert not read_timings(tmp_path).bad
    write(tmp_path, "[20.1, 20.2, 20.3]", "chrome_h3.json", cell)
    (bad,) = read_timings(tmp_path).bad
    assert "beside 4300 ms" in bad.reason


def test_a_unit_that_is_said_is_taken_as_said(tmp_path: Path) -> None:
    write(tmp_path, "[0.152, 0.149]")
    (cell,) = read_timings(tmp_path, unit="s").cells
    assert cell.ttlb_s("chrome_h3") == [0.152, 0.149]


@given(st.lists(st.floats(min_value=60, max_value=500_000), min_size=1, max_size=20))
def test_no_unit_passes_for_another(values: list[float]) -> None:
    assert why_wrong_units(values, 50) is None
    middle = sorted(values)[len(values) // 2]
    if middle < 10_000:  # a fetch of 10 s in seconds is still below the shortest time
        assert why_wrong_units([value / 1000 for value in values], 50)
    assert (why_wrong_units([value * 1000 for value in values], 0) is not None) == (
        sorted(values)[(len(values) - 1) // 2] + sorted(values)[len(values) // 2] > 1200
    )


def test_the_same_cell_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "[150]")
    write(tmp_path, "[150]", cell=Path("loss-0dot1_delay-50_bw-10/Facebook/100KB"))
    if (tmp_path / CELL).samefile(tmp_path / "loss-0dot1_delay-50_bw-10/Facebook/100KB"):
        pytest.skip("the file system does not tell case")
    with pytest.raises(InvalidInput, match="twice"):
        accept(read_timings(tmp_path), OnError.SKIP)


def test_folders_without_results(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Known: a folder of timings"):
        read_results(tmp_path, ReadOptions())
    with pytest.raises(InvalidInput, match="is not there"):
        read_results(tmp_path / "none", ReadOptions())
    shutil.copytree(SAMPLES / "loss-0_delay-0_bw-10", tmp_path / "loss-0_delay-0_bw-10")
    (tmp_path / "LTE").mkdir()
    (tmp_path / ".cache").mkdir()
    results = read_results(tmp_path, ReadOptions())
    assert [Path(bad.file).name for bad in results.bad] == ["LTE"]
    assert len(results.cells) == 9
    assert len(read_results(tmp_path / "loss-0_delay-0_bw-10", ReadOptions()).cells) == 9

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.adapters.importers.files import Unreadable
from lastbyte.adapters.importers.sockets import parse_sample, read_samples, read_sockets
from lastbyte.services.phases import phase_table
from tests.data import make_samples

SAMPLES = Path(make_samples.__file__).parent / "sockets"


def document(**events: object) -> dict[str, Any]:
    return {
        "events": {
            "secure": "2021-03-08T08:20:00.000Z",
            "data": "2021-03-08T08:20:00.002Z",
            "streamEnd": "2021-03-08T08:20:00.010Z",
            "socketClose": "2021-03-08T08:20:10.023Z",
            **events,
        },
        "durations": {"handshakeDurationInNs": "20600000"},
    }


def test_the_table_has_the_known_numbers() -> None:
    rows = phase_table(read_samples(SAMPLES).samples)
    assert [(row.delay_ms, row.protocol, row.n) for row in rows] == [
        (0, "quic", 5), (0, "tcp", 5), (10, "quic", 5), (10, "tcp", 5),
    ]  # fmt: skip
    for row in rows:
        handshake, wait, transfer, close = make_samples.PHASES_MS[row.protocol]
        quic = row.protocol == "quic"
        expected = {
            "handshake": (handshake + row.delay_ms, 2**0.5),
            "ttfb": (wait + row.delay_ms / 10, 2**0.5 / 2),
            "transfer": (transfer + row.delay_ms, 2**0.5 / 2),
            "close": (close + row.delay_ms - (10_000 if quic else 0), 2**0.5),  # population deviation of -2..2
        }
        for phase, (mean_ms, sd_ms) in expected.items():
            assert row.phases[phase].mean_ms == pytest.approx(mean_ms, abs=1e-9)
            assert row.phases[phase].sd_ms == pytest.approx(sd_ms, abs=1e-9)
        assert row.idle_timeouts == (5 if quic else 0)


def test_number_and_text_of_the_handshake_are_alike() -> None:
    as_text, as_number = document(), document()
    as_number["durations"]["handshakeDurationInNs"] = 20600000
    one, two = (parse_sample(json.dumps(item), "quic", 0) for item in (as_text, as_number))
    assert one == two
    assert (one.handshake_ms, one.ttfb_ms, one.transfer_ms) == pytest.approx((20.6, 2, 8))
    assert one.close_ms == pytest.approx(13)


def test_the_idle_timeout_is_taken_off_quic_only_and_only_where_it_is() -> None:
    text = json.dumps(document())
    assert parse_sample(text, "tcp", 0).close_ms == pytest.approx(10_013)
    quick = json.dumps(document(socketClose="2021-03-08T08:20:00.014Z"))
    assert parse_sample(quick, "quic", 0).close_ms == pytest.approx(4)


@pytest.mark.parametrize(
    ("change", "place", "reason"),
    [
        ({"data": ""}, "events.data", "missing"),
        ({"data": 7}, "events.data", "not a time"),
        ({"data": "yesterday"}, "events.data", "ISO 8601"),
        ({"data": "2021-03-08T08:19:59Z"}, "events.data", "before secure"),
        ({"socketClose": "2021-03-08T08:20:00.001Z"}, "events.socketClose", "before streamEnd"),
    ],
)
def test_bad_events(change: dict[str, object], place: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as caught:
        parse_sample(json.dumps(document(**change)), "quic", 0)
    assert caught.value.place == place


@pytest.mark.parametrize("value", ["20.6", 20.6, 20600, "fast", "", None, -5, "NaN", "inf", True, [], 1e15])
def test_bad_handshakes(value: object) -> None:
    sample = document()
    sample["durations"]["handshakeDurationInNs"] = value
    with pytest.raises(Unreadable, match="handshakeDurationInNs"):
        parse_sample(json.dumps(sample), "quic", 0)


leaves = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=30) | st.datetimes().map(str)


@given(
    st.fixed_dictionaries(
        {
            "events": st.dictionaries(st.sampled_from(["secure", "data", "streamEnd", "socketClose"]), leaves) | leaves,
            "durations": st.fixed_dictionaries({"handshakeDurationInNs": leaves}) | leaves,
        }
    )
    | leaves
)
def test_any_document_is_a_sample_or_refused_with_a_reason(made: object) -> None:
    try:
        parse_sample(json.dumps(made), "quic", 0)
    except Unreadable as exc:
        said = exc.reason
    else:
        said = "fine"
    assert said.strip()


def test_bad_measurements_are_named_and_left_out_whole(tmp_path: Path) -> None:
    folder = tmp_path / "samples_threshold5_dev2_delay0" / "quic" / "remote"
    for name in ("a", "b", "c"):
        (folder / name).mkdir(parents=True)
        (folder / name / "quic-benchmark-server.json").write_text(json.dumps(document()))
    (folder / "b" / "ping.json").write_text('{"mean": 3')
    (folder / "c" / "quic-benchmark-server.json").unlink()
    read = read_samples(tmp_path)
    assert len(read.samples) == 1
    assert [(Path(bad.file).parent.name, Path(bad.file).name) for bad in read.bad] == [
        ("b", "ping.json"), ("c", "quic-benchmark-server.json"),
    ]  # fmt: skip
    assert "truncated" in read.bad[0].reason


def test_samples_as_trials() -> None:
    results = read_sockets(SAMPLES)
    assert [cell.profile.extra_rtt_ms for cell in results.cells] == [0, 10]
    assert sorted(results.cells[0].ttlb_s("node-tcp"))[2] == pytest.approx(0.0125)
    assert len(results.cells[1].ttlb_s("node-quic")) == 5

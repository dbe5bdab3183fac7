"""Numbers from acknowledged bytes over time, on curves whose answer is known."""

from __future__ import annotations

import pytest

from lastbyte.domain.acks import AckPoint, AckTrace
from lastbyte.stats.acks import figures

RTT_MS = 20.0


def trace(points: list[tuple[float, int]], rtt_ms: float | None = RTT_MS, **other: int) -> AckTrace:
    made = tuple(AckPoint(at_ms, acked) for at_ms, acked in points)
    return AckTrace("tcp", "pcap", made, rtt_ms, points[-1][1], 0, (), **other)  # type: ignore[arg-type]


def line(rate_mbit_s: float, until_ms: float, start_ms: float = 40.0) -> list[tuple[float, int]]:
    """One acknowledgement each two packets of 1250 bytes, at this rate."""
    gap_ms = 2 * 1250 * 8 / rate_mbit_s / 1000
    return [(start_ms + n * gap_ms, 2500 * n) for n in range(1, int((until_ms - start_ms) / gap_ms))]


def test_the_slope_of_a_line_is_its_rate() -> None:
    found = figures(trace(line(10, 1000), wire_bytes=2 * line(10, 1000)[-1][1]))
    assert found.slope_mbit_s == pytest.approx(10, rel=1e-6)
    assert found.wire_slope_mbit_s == pytest.approx(20, rel=1e-6)
    assert found.goodput_mbit_s is not None
    assert found.goodput_mbit_s < 10
    assert found.stalls == ()


def test_a_stall_is_a_plateau_longer_than_one_and_a_half_round_trips() -> None:
    before, after = line(10, 400), [(at + 90, acked + 440_000) for at, acked in line(10, 800, start_ms=400)]
    repeats = [(before[-1][0] + wait, before[-1][1]) for wait in (20, 50, 80)]  # duplicate ACKs bring nothing new
    found = figures(trace([*before, *repeats, *after]))
    (stall,) = found.stalls
    assert stall.duration_ms == pytest.approx(95, abs=5)
    assert stall.acked_bytes == before[-1][1]
    assert found.stall_threshold_ms == 30
    assert figures(trace([*before, *after]), stall_ms=200).stalls == ()


def test_slow_start_ends_when_the_rate_grows_no_more() -> None:
    points: list[tuple[float, int]] = []
    acked, at_ms = 0, 40.0
    for window in (10, 20, 40, 80, *(80 for _ in range(20))):  # packets per round trip
        for number in range(window):
            acked += 1250
            points.append((at_ms + number * RTT_MS / window, acked))
        at_ms += RTT_MS
    found = figures(trace(points))
    assert found.slow_start_exit_ms == pytest.approx(40 + 4 * RTT_MS, abs=RTT_MS)
    assert figures(trace(points, rtt_ms=None)).slow_start_exit_ms is None
    assert figures(trace(points[:15])).slow_start_exit_ms is None


def test_a_single_acknowledgement_gives_no_rate() -> None:
    found = figures(trace([(50.0, 0)]))
    assert (found.slope_mbit_s, found.goodput_mbit_s, found.stalls) == (None, None, ())

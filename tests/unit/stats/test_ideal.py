from __future__ import annotations

import pytest

from lastbyte.stats.ideal import IdealLink, Sender, h2_floor_s, h3_floor_s

FAST = IdealLink(rtt_s=0.1, rate_bit_s=1e15)
"""So fast that round trips alone count."""
TEN = IdealLink(rtt_s=0.0, rate_bit_s=10e6)
"""So near that bytes alone count."""


@pytest.mark.parametrize(
    ("packets", "rounds"),
    [(1, 1), (14, 1), (15, 2), (14 + 28, 2), (14 + 28 + 1, 3), (14 + 28 + 56 + 1, 4)],
)
def test_slow_start_doubles_what_a_round_trip_brings(packets: int, rounds: int) -> None:
    # 10 packets and 4 that the handshake may have added; two round trips of handshake over TCP, one over QUIC
    body_h3 = packets * (1472 - 22)
    assert h3_floor_s(FAST, Sender(10), body_h3) == pytest.approx(0.1 * (1 + rounds), abs=1e-6)
    body_h2 = packets * 1448 - 400  # below what is left when framing is taken off
    assert h2_floor_s(FAST, Sender(10), body_h2) == pytest.approx(0.1 * (2 + rounds), abs=1e-6)


def test_one_megabyte_at_ten_megabit_by_hand() -> None:
    # H2: 62 frames of 9 bytes: 1 000 558; in 62 records of 22 bytes: 1 001 922; 692 segments of 66 bytes more.
    # SYN and answer 74 each, three bare packets of 66 (hello, an empty flight costs nothing, request).
    bytes_h2 = 1_001_922 + 692 * 66 + 2 * 74 + 2 * 66
    assert h2_floor_s(TEN, Sender(10), 1_000_000) == pytest.approx(bytes_h2 * 8 / 10e6, rel=1e-9)
    # H3: 1 000 000 / 1450 = 690 packets with 14 + 20 + 8 + 18 + 4 bytes more; two Initials of 1242, a request of 64.
    bytes_h3 = 1_000_000 + 690 * 64 + 2 * 1242 + 64
    assert h3_floor_s(TEN, Sender(10), 1_000_000) == pytest.approx(bytes_h3 * 8 / 10e6, rel=1e-9)


def test_certificates_take_their_time_and_widen_the_window() -> None:
    plain, heavy = Sender(10), Sender(10, flight_bytes=2896)
    extra_bytes = 2896 + 2 * 66
    assert h2_floor_s(TEN, heavy, 100_000) - h2_floor_s(TEN, plain, 100_000) == pytest.approx(extra_bytes * 8 / 10e6)
    body = 16 * 1448 - 400
    assert h2_floor_s(FAST, plain, body) == pytest.approx(0.4, abs=1e-6)
    assert h2_floor_s(FAST, heavy, body) == pytest.approx(0.3, abs=1e-6)


def test_a_window_above_the_bandwidth_delay_product_keeps_the_link_busy() -> None:
    # 10 Mbit/s x 10 ms are 12 500 bytes, less than the initial window: after the round trips it is bytes alone
    near = IdealLink(rtt_s=0.010, rate_bit_s=10e6)
    assert h3_floor_s(near, Sender(10), 1_000_000) == pytest.approx(h3_floor_s(TEN, Sender(10), 1_000_000) + 0.020)


def test_larger_datagrams_and_windows_are_never_slower() -> None:
    link = IdealLink(rtt_s=0.09, rate_bit_s=10e6)
    times = [h3_floor_s(link, Sender(n, size), 1_000_000) for n, size in ((10, 1200), (10, 1472), (32, 1472))]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == 3

"""Every option of a profile on a real box: read back as asked, and seen in the packets."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import statistics
import struct
import threading
import time

import pytest

from lastbyte.domain.impairment import JITTER_DISTRIBUTIONS, Slot
from lastbyte.domain.loss import FourState, GilbertElliott
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.timeline import Change, Step, Timeline
from lastbyte.ports import PlaysTimelines, Seedable
from netem.path import ShapedPath
from netem.probe import LossReport, measure_loss, measure_rate
from tests.integration.netem.test_shaping import ends

IN_GUEST = "LASTBYTE_IN_GUEST" in os.environ
CLEAR = Impairment(queue_packets=10_000)

OPTIONS = [
    *(Impairment(delay_ms=20, jitter_ms=5, jitter_distribution=name) for name in JITTER_DISTRIBUTIONS),
    Impairment(jitter_ms=5, jitter_correlation_pct=25),
    Impairment(loss_pct=0.3, loss_correlation_pct=25),
    Impairment(loss_gemodel=GilbertElliott(1, 10)),
    Impairment(loss_gemodel=GilbertElliott(1, 10, 70, 0.1), rate_mbit_s=10),
    Impairment(loss_state=FourState(1, 10)),
    Impairment(loss_state=FourState(1, 10, 20, 30, 0.5)),
    Impairment(delay_ms=10, reorder_pct=5, reorder_correlation_pct=50, reorder_gap=5),
    Impairment(reorder_pct=5),
    Impairment(duplicate_pct=1, duplicate_correlation_pct=3),
    Impairment(duplicate_pct=2),
    Impairment(corrupt_pct=0.1, corrupt_correlation_pct=3),
    Impairment(slot=Slot(5, 10, 3, 9000), rate_mbit_s=20),
    Impairment(slot=Slot(5)),
    Impairment(rate_mbit_s=10, delay_ms=25, queue_bdp=2),
    Impairment(),
]


def down(item: Impairment, timeline: Timeline | None = None) -> Profile:
    return Profile("x", "", item, CLEAR, timeline=timeline)


def arrivals(path: ShapedPath, count: int, gap_s: float) -> list[int]:
    """Numbers of the packets sent down, in the order in which they came."""
    client, uplink = ends(path)
    receiver = client.namespace.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sender = uplink.namespace.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    came: list[int] = []

    def receive() -> None:
        with contextlib.suppress(OSError):
            while True:
                came.append(struct.unpack_from("!Q", receiver.recv(100))[0])

    with receiver, sender:
        receiver.bind((str(client.address), 0))
        receiver.settimeout(0.5)
        sender.connect(receiver.getsockname())
        thread = threading.Thread(target=receive)
        thread.start()
        for number in range(count):
            sender.send(struct.pack("!Q", number) + bytes(56))
            time.sleep(gap_s)
        thread.join()
    return came


def overtaken(numbers: list[int]) -> int:
    """Packets that came after one that was sent later."""
    highest, late = -1, 0
    for number in numbers:
        late += number < highest
        highest = max(highest, number)
    return late


@pytest.mark.parametrize("item", OPTIONS)
def test_every_option_is_taken_as_asked(path: ShapedPath, item: Impairment) -> None:
    path.configure(Profile("x", "", item, item), 10)  # compares what tc reads back with what was asked


def test_every_preset_is_taken_as_asked_and_none_leaves_a_trace(path: ShapedPath, profiles: dict[str, Profile]) -> None:
    for profile in profiles.values():
        path.configure(profile, 20)
    path.configure(profiles["unshaped"])
    assert statistics.median(path.probe_rtt(20, 0.002).samples_ms) < 1


def test_jitter_reorders_unless_a_rate_keeps_order(path: ShapedPath) -> None:
    path.configure(down(Impairment(delay_ms=30, jitter_ms=5)))
    assert overtaken(arrivals(path, 200, 0.002)) > 20
    path.configure(down(Impairment(delay_ms=30, jitter_ms=5, rate_mbit_s=10)))
    assert overtaken(arrivals(path, 200, 0.002)) == 0


def test_jitter_spreads_the_round_trips_round_the_delay(path: ShapedPath) -> None:
    item = Impairment(delay_ms=20, jitter_ms=5, jitter_distribution="normal")
    path.configure(Profile("x", "", item, CLEAR))
    samples = path.probe_rtt(150, 0.005).samples_ms
    assert 19 < statistics.median(samples) < 23
    assert 3 < statistics.pstdev(samples) < 8


def test_reordering_and_duplicates_come_in_their_shares(path: ShapedPath) -> None:
    path.configure(down(Impairment(delay_ms=25, reorder_pct=10)))
    numbers = arrivals(path, 400, 0.002)
    assert len(numbers) == 400
    # Each packet that goes ahead overtakes those of the last 25 ms; most of the others are overtaken at some time.
    assert overtaken(numbers) > 100
    path.configure(down(Impairment(duplicate_pct=10)))
    assert 410 <= len(arrivals(path, 400, 0.0005)) <= 480


def test_corrupted_packets_do_not_arrive_but_count_as_sent(path: ShapedPath) -> None:
    path.configure(down(Impairment(corrupt_pct=10)))
    came = arrivals(path, 400, 0.0005)
    counters = path.counters().downlink
    assert (counters.sent_packets, counters.dropped_packets) == (400, 0)
    assert 320 <= len(came) <= 390


@pytest.mark.parametrize(
    "item",
    [
        Impairment(loss_gemodel=GilbertElliott(1, 20, 80), rate_mbit_s=20),
        Impairment(loss_state=FourState(1, 25, p14_pct=0.5), rate_mbit_s=20),
    ],
)
def test_burst_losses_lie_in_their_widened_interval(path: ShapedPath, item: Impairment) -> None:
    path.configure(down(item))
    client, uplink = ends(path)
    report = measure_loss(path, uplink, client, item)
    assert report.burst_factor > 5
    assert report.within_tolerance, report


def test_correlated_random_loss_loses_next_to_nothing(path: ShapedPath) -> None:
    item = Impairment(loss_pct=3, loss_correlation_pct=25, rate_mbit_s=20)
    path.configure(down(item))
    client, uplink = ends(path)
    report = measure_loss(path, uplink, client, item)
    assert report.requested == pytest.approx(0.0297, abs=0.001)
    assert report.achieved < 0.2


@pytest.mark.parametrize("downlink", [True, False])
def test_ipv6_loses_as_asked(path: ShapedPath, *, downlink: bool) -> None:
    shape = Profile("x", "", Impairment(loss_pct=1, rate_mbit_s=20), Impairment(loss_pct=3, rate_mbit_s=20))
    path.configure(shape)
    client, uplink = ends(path, v6=True)
    source, sink, item = (uplink, client, shape.downlink) if downlink else (client, uplink, shape.uplink)
    report: LossReport = measure_loss(path, source, sink, item)
    assert report.sent >= 10_000
    assert report.within_tolerance, report


def test_a_queue_in_bdps_holds_that_many_packets(path: ShapedPath) -> None:
    # 10 Mbit/s over 40 ms of base RTT: 33.03 frames; half of that.
    path.configure(down(Impairment(rate_mbit_s=10, queue_bdp=0.5)), 40)
    state = path.box.console.qdiscs()[path.box.ports[0]]
    assert state.limit_packets == 17 + 17  # the delay line of 20 ms one way, and the queue


def test_a_path_plays_timelines_and_takes_seeds(path: ShapedPath) -> None:
    assert isinstance(path, PlaysTimelines)
    assert isinstance(path, Seedable)


def test_without_a_seed_in_the_box_it_is_said(path: ShapedPath) -> None:
    path.configure(down(Impairment(loss_pct=20)), seed=7)
    patterns = []
    for _ in range(2):
        took = path.reseed(7)
        assert took == path.seed_supported
        patterns.append(arrivals(path, 200, 0.0002))
    assert (patterns[0] == patterns[1]) == path.seed_supported


def test_spikes_come_and_go_while_counters_go_on(path: ShapedPath) -> None:
    spikes = Timeline((Step(0), Step(300, Change(rate_share=0.1))), 500)
    profile = down(Impairment(rate_mbit_s=10, delay_ms=10), spikes)
    path.configure(profile)
    client, uplink = ends(path)
    steady = measure_rate(path, uplink, client, profile.downlink).achieved
    assert steady == pytest.approx(10, rel=0.1 if IN_GUEST else 0.03)
    before = path.counters().downlink
    path.start_timeline()
    spiky = measure_rate(path, uplink, client, profile.downlink).achieved
    played = path.stop_timeline()
    # 300 ms of 10 Mbit/s and 200 ms of 1 Mbit/s in each half second.
    assert spiky == pytest.approx(6.4, rel=0.2 if IN_GUEST else 0.08)
    assert played is not None
    assert played.steps >= 8
    assert path.counters().downlink.sent_packets > before.sent_packets
    assert path.box.console.qdiscs()[path.box.ports[0]].rate_mbit_s == pytest.approx(10)


def test_a_spike_is_over_when_it_is_over(path: ShapedPath) -> None:
    """What came during a spike leaves at the full rate after it: the queue belongs to the bucket, not to netem."""
    profile = down(Impairment(rate_mbit_s=10), Timeline((Step(50, Change(rate_share=0.01)), Step(250))))
    path.configure(profile)
    client, uplink = ends(path)
    path.start_timeline()
    time.sleep(0.1)
    start = time.perf_counter()
    # 60 full frames: 73 ms at 10 Mbit/s, 7 s at a hundredth of it.
    numbers: list[float] = []
    receiver = client.namespace.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    sender = uplink.namespace.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    with receiver, sender:
        receiver.bind((str(client.address), 0))
        receiver.settimeout(2)
        for _ in range(60):
            sender.sendto(bytes(1472), receiver.getsockname())
        for _ in range(60):
            receiver.recv(2000)
            numbers.append(time.perf_counter() - start)
    path.stop_timeline()
    assert 0.14 < numbers[-1] < 0.5


def test_a_blackout_silences_and_ends(path: ShapedPath) -> None:
    path.configure(down(Impairment(delay_ms=1), Timeline((Step(100, Change(loss_pct=100)), Step(300)))))
    path.start_timeline()
    came = arrivals(path, 250, 0.002)  # half a second and a little
    path.stop_timeline()
    lost = 250 - len(came)
    assert 40 <= lost <= 130
    assert max(b - a for a, b in itertools.pairwise(came)) >= 0.8 * lost  # all in one piece


def test_a_profile_without_a_timeline_plays_none(path: ShapedPath) -> None:
    path.configure(down(Impairment(delay_ms=1)))
    path.start_timeline()
    assert path.stop_timeline() is None

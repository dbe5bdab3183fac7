"""Timelines as tc commands, and the thread that plays them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from lastbyte.adapters import realtime
from lastbyte.domain.errors import PathLost
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.timeline import Change, Step, Timeline
from netem import seed, tc
from netem.player import Player, changes

ITEM = Impairment(rate_mbit_s=10, delay_ms=25, queue_packets=100)
SPIKES = Timeline((Step(400, Change(rate_share=0.1)), Step(600, Change(rate_share=0.1)), Step(800)), 1000)
PORTS = ("vec0", "vec1")


def profile(timeline: Timeline) -> Profile:
    return Profile("x", "", ITEM, ITEM, timeline=timeline)


def text(commands: Sequence[Sequence[str]]) -> list[str]:
    return [" ".join(command) for command in commands]


def test_a_changing_rate_is_kept_by_a_token_bucket_below_the_delay() -> None:
    shape, _ = tc.shapes_of(profile(SPIKES))
    assert text(shape.commands("vec0", 5)) == [
        "qdisc replace dev vec0 root handle 5: netem limit 121 delay 25000us rate 10000000000bit",
        "qdisc replace dev vec0 parent 5:1 handle 8005: tbf rate 10000000bit burst 3750b limit 151400b",
    ]


def test_a_constant_rate_stays_with_netem() -> None:
    blackout = Timeline((Step(400, Change(loss_pct=100)), Step(500)))
    shape, _ = tc.shapes_of(profile(blackout))
    assert text(shape.commands("vec0", 5)) == [
        "qdisc replace dev vec0 root handle 5: netem limit 121 delay 25000us rate 10000000bit"
    ]
    steps = list(changes(profile(blackout), tc.shapes_of(profile(blackout)), PORTS, 5))
    assert [at for at, _ in steps] == [400, 500]
    assert text(steps[0][1]) == [
        "qdisc change dev vec0 root handle 5: netem limit 121 delay 25000us loss random 100.000000% rate 10000000bit"
    ]
    assert text(steps[1][1]) == ["qdisc change dev vec0 root handle 5: netem limit 121 delay 25000us rate 10000000bit"]


def test_a_change_names_the_rate_even_when_there_is_none() -> None:
    shape = tc.Shape(Impairment(delay_ms=5))
    assert text(shape.change("vec0", 1, Impairment(delay_ms=9)))[0].endswith("delay 9000us rate 0bit")


def test_only_what_changes_is_sent_and_each_step_has_a_seed_of_its_own() -> None:
    steps = changes(profile(SPIKES), tc.shapes_of(profile(SPIKES)), PORTS, 5, seed=100)
    first, second, third, again = (next(steps) for _ in range(4))
    assert [at for at, _ in (first, second, third, again)] == [400, 600, 800, 1400]
    assert "seed 101" in text(first[1])[0]
    assert "tbf rate 1000000bit" in text(first[1])[1]
    assert len(first[1]) == 2  # the uplink's step is empty
    assert second[1] == []
    assert "seed 103" in text(third[1])[0]
    assert "tbf rate 10000000bit" in text(third[1])[1]
    assert "seed 104" in text(again[1])[0]


def test_the_limit_has_room_for_every_step() -> None:
    longer = profile(Timeline((Step(100, Change(delay_ms=250)),)))
    assert tc.shapes_of(longer)[0].limit_packets == tc.delay_line_packets(250, 10) + 100


def test_no_timeline_no_steps() -> None:
    plain = Profile("x", "", ITEM, ITEM)
    assert list(changes(plain, tc.shapes_of(plain), PORTS, 5)) == []


def test_steps_are_played_in_time_and_the_rest_is_not() -> None:
    sent: list[tuple[float, list[str]]] = []
    start = time.perf_counter()

    def send(commands: Sequence[tc.Command]) -> None:
        sent.append((time.perf_counter() - start, text(commands)))

    player = Player(iter([(0.0, [["a"]]), (60.0, [["b"]]), (60_000.0, [["c"]])]), send)
    while len(sent) < 2:
        time.sleep(0.005)
    played = player.stop()
    assert played.steps == 2
    assert player.stop() == played
    assert [item for _, item in sent] == [["a"], ["b"]]
    assert sent[1][0] >= 0.06
    assert played.worst_late_ms < 60_000


def test_what_plays_runs_before_ordinary_processes_where_that_is_allowed() -> None:
    policies: list[int] = []
    before = os.sched_getscheduler(0)
    player = Player(iter([(0.0, [["a"]])]), lambda _commands: policies.append(os.sched_getscheduler(0)))
    while not policies:
        time.sleep(0.005)
    player.stop()
    assert policies == [os.SCHED_RR if realtime.allowed() else before]
    assert os.sched_getscheduler(0) == before, "whoever started it stays as it was"


@pytest.mark.parametrize("error", [PathLost("gone"), OSError("refused")])
def test_a_lost_box_ends_the_play_quietly(error: Exception) -> None:
    tried = threading.Event()

    def send(_commands: Sequence[tc.Command]) -> None:
        tried.set()
        raise error

    def endless() -> Iterator[tuple[float, list[tc.Command]]]:
        while True:
            yield 0.0, []

    player = Player(endless(), send)
    assert tried.wait(5)
    assert player.stop().steps == 0


@pytest.mark.parametrize(
    ("kernel", "iproute2", "known"),
    [
        ("6.1.176", "tc utility, iproute2-6.1.0, libbpf 1.1.2", False),
        ("6.12.48", "tc utility, iproute2-6.15.0, libbpf 1.5.0", True),
        ("6.6.0-rc1", "tc utility, iproute2-6.6.0", True),
        ("6.12.48", "tc utility, iproute2-6.1.0", False),
        ("5.10.0", "tc utility, iproute2-6.15.0", False),
        ("6.12.48", "tc utility, iproute2-ss200127", False),
        ("6.12.48", "", False),
    ],
)
def test_the_seed_needs_a_kernel_and_a_tc_that_know_it(kernel: str, iproute2: str, *, known: bool) -> None:
    assert seed.known_to(kernel, iproute2) is known

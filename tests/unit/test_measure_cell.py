"""The runner: rounds, resuming, failures as data, and a link that dies."""

from __future__ import annotations

import errno
import random
import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lastbyte.adapters.artifact_files import PlainFiles
from lastbyte.domain.campaign import StoppingRule, order_of_arms, seed_of_round
from lastbyte.domain.capture import CapturePolicy
from lastbyte.domain.client import Client
from lastbyte.domain.courtesy import GRANTED, Permission
from lastbyte.domain.endpoint import Origin
from lastbyte.domain.errors import PathLost, PathUnavailable
from lastbyte.domain.link_probe import DirectionProbe, LinkProbe
from lastbyte.domain.profile import Impairment
from lastbyte.domain.timeline import Played, Step, Timeline
from lastbyte.domain.tls import GroupSource, TlsDetails
from lastbyte.domain.trial import FailureKind, Observation, Timings
from lastbyte.ports import CellPlan, RttProbe, Target
from lastbyte.services.link import Link
from lastbyte.services.measure_cell import Bench, measure_cell
from lastbyte.stats.link_probe import link_out_of_tolerance
from tests.fakes.measuring import (
    ENDPOINT,
    H2,
    H3,
    PROFILE,
    FakeMeter,
    FakePath,
    FakePathFactory,
    FakeResolver,
    FakeRunner,
    FakeStore,
    failing,
    plan,
)

PRODUCTION = replace(ENDPOINT, origin=Origin.PRODUCTION)


def bench(
    runner: FakeRunner | None = None, factory: FakePathFactory | None = None, *, resolves: bool = True
) -> tuple[Bench, FakePathFactory, FakeRunner]:
    factory = factory or FakePathFactory()
    runner = runner or FakeRunner()
    return Bench(Link(factory), runner, FakeResolver(fails=not resolves), threading.Event()), factory, runner


def test_every_round_runs_each_arm_once_and_round_zero_is_the_warmup() -> None:
    store = FakeStore(plan(rounds=3))
    the_bench, _, _ = bench()
    assert measure_cell(7, "w", store, the_bench, 20)
    assert set(store.trials) == {(r, c.id) for r in range(4) for c in (H2, H3)}
    assert [t.round_index for t in store.trials.values() if t.is_warmup] == [0, 0]
    assert store.state == "done"


def test_the_order_within_rounds_is_the_seeded_one() -> None:
    store = FakeStore(plan(rounds=20))
    the_bench, _, runner = bench()
    measure_cell(7, "w", store, the_bench, 20)
    expected = [client for r in range(21) for client in order_of_arms(42, ENDPOINT.id, PROFILE.name, r, [H2.id, H3.id])]
    assert runner.runs == expected
    first = [runner.runs[2 * r] for r in range(21)]
    assert {H2.id, H3.id} == set(first), "one arm always went first"


def test_a_cell_that_was_interrupted_runs_only_what_is_left_in_the_same_order() -> None:
    whole = FakeStore(plan(rounds=4))
    measure_cell(7, "w", whole, bench()[0], 20)
    resumed = FakeStore(plan(rounds=4))
    keys = list(whole.trials)
    resumed.trials = {key: whole.trials[key] for key in keys[:5]}
    the_bench, _, runner = bench()
    measure_cell(7, "w", resumed, the_bench, 20)
    assert runner.runs == [key[1] for key in keys[5:]]
    assert list(resumed.trials) == keys


def test_an_endpoint_that_does_not_resolve_is_stored_as_failures_and_the_cell_ends() -> None:
    store = FakeStore(plan(rounds=2))
    the_bench, _, runner = bench(resolves=False)
    assert measure_cell(7, "w", store, the_bench, 20)
    kinds = {t.observation.failure.kind for t in store.trials.values() if t.observation.failure}
    assert kinds == {FailureKind.DNS}
    assert len(store.trials) == 6
    assert runner.runs == []


def test_a_link_that_dies_costs_one_trial_and_is_rebuilt_in_the_same_shape() -> None:
    factory = FakePathFactory()

    def kill_on_third(count: int) -> None:
        if count == 2:
            factory.opened[-1].die()

    the_bench, _, _ = bench(FakeRunner(kill_on_third), factory)
    store = FakeStore(plan(rounds=3))
    assert measure_cell(7, "w", store, the_bench, 20)
    lost = [
        t
        for t in store.trials.values()
        if t.observation.failure is not None and t.observation.failure.kind is FailureKind.PATH_LOST
    ]
    assert len(lost) == 1
    assert len(store.trials) == 8
    assert len(factory.opened) == 2
    assert factory.opened[0].closed == 1
    assert factory.opened[1].shape == (PROFILE, ENDPOINT.base_rtt_ms)


def test_a_machine_without_a_path_hands_the_cell_back_and_stores_no_failure() -> None:
    def refuse() -> FakePath:
        raise PathUnavailable("no /dev/net/tun")

    store = FakeStore(plan())
    the_bench, _, _ = bench(factory=FakePathFactory(refuse))
    with pytest.raises(PathUnavailable):
        measure_cell(7, "w", store, the_bench, 20)
    assert store.state == "pending"
    assert store.trials == {}


def test_a_path_that_keeps_dying_gives_up_and_hands_back() -> None:
    def stillborn() -> FakePath:
        path = FakePath()
        path.die()
        return path

    store = FakeStore(plan())
    the_bench, factory, _ = bench(factory=FakePathFactory(stillborn))
    with pytest.raises(PathLost):
        measure_cell(7, "w", store, the_bench, 20)
    assert len(factory.opened) == 3
    assert all(path.closed for path in factory.opened)
    assert store.state == "pending"


def test_stopping_hands_the_cell_back_and_throws_away_the_trial_that_was_cut_short() -> None:
    runner = FakeRunner(lambda count: the_bench.stop.set() if count == 3 else None)
    the_bench, _, _ = bench(runner)
    store = FakeStore(plan())
    assert not measure_cell(7, "w", store, the_bench, 20)
    assert len(store.trials) == 3
    assert store.state == "pending"
    assert store.owner is None


def test_a_cancelled_campaign_stops_after_the_running_trial() -> None:
    store = FakeStore(plan(rounds=10))

    def cancel(count: int) -> None:
        store.cancelled = count == 4

    the_bench, _, runner = bench(FakeRunner(cancel))
    assert not measure_cell(7, "w", store, the_bench, 20)
    assert len(runner.runs) == 5
    assert store.state == "cancelled"


def test_a_cell_held_by_another_worker_is_left_alone() -> None:
    store = FakeStore(plan())
    store.owner, store.state = "other", "running"
    the_bench, factory, _ = bench()
    assert not measure_cell(7, "w", store, the_bench, 20)
    assert factory.opened == []
    assert store.owner == "other"


def test_counters_of_a_trial_are_differences_and_a_left_over_queue_is_waited_for() -> None:
    factory = FakePathFactory()
    link = Link(factory)
    link.shape(PROFILE, 10)
    path = factory.opened[0]
    path.backlogs = [50, 30, 2]
    proof = link.proof_since_last()
    assert proof.downlink.sent_packets == 10
    assert proof.downlink.backlog_packets == 50
    assert path.backlogs == [], "did not wait until the queue had drained"
    assert link.proof_since_last().downlink.sent_packets == 10, "the drained packets were counted to the next trial"


def test_a_trial_says_what_the_machine_did_meanwhile_and_why_it_is_not_believed() -> None:
    store = FakeStore(plan(rounds=2))
    factory = FakePathFactory()
    meter = FakeMeter(steal_on=3)
    the_bench = Bench(Link(factory, meter), FakeRunner(), FakeResolver(), threading.Event())
    assert measure_cell(7, "w", store, the_bench, 20)
    trials = list(store.trials.values())
    uses = [t.proof.host for t in trials if t.proof and t.proof.host]
    assert len(uses) == len(trials) == 6
    assert [use.elapsed_s for use in uses] == [1.0] * 6
    reasons = [t.unproven_reason for t in trials]
    assert "hypervisor" in reasons[2]
    assert [bool(reason) for reason in reasons] == [False, False, True, False, False, False]
    assert store.proof is not None
    assert store.proof.machine == {"kernel": "fake", "ca_file": None, "ceilings_mbit_s": {}, "profile_warnings": []}
    assert meter.described == 1, "read once for each path"


def test_a_failure_is_stored_as_it_ended_and_is_not_tried_again() -> None:
    """The retry policy: there is none, and each trial has its one place in its round."""

    class Failing(FakeRunner):
        def run(self, client: Client, target: Target, prefix: Sequence[str], timeout_s: float) -> Observation:
            super().run(client, target, prefix, timeout_s)
            return failing(FailureKind.TIMEOUT)

    store = FakeStore(plan(rounds=2))
    the_bench, _, runner = bench(Failing())
    assert measure_cell(7, "w", store, the_bench, 20)
    assert len(runner.runs) == len(store.trials) == 6
    assert all(t.observation.failure == failing(FailureKind.TIMEOUT).failure for t in store.trials.values())


def test_the_testbed_is_our_own_and_nobody_is_asked() -> None:
    store = FakeStore(plan())
    measure_cell(7, "w", store, bench()[0], 20)
    assert store.reserved == 0


def test_a_production_host_is_asked_before_each_fetch() -> None:
    store = FakeStore(replace(plan(rounds=2), endpoint=PRODUCTION))
    the_bench, _, runner = bench()
    assert measure_cell(7, "w", store, the_bench, 20)
    assert store.reserved == len(runner.runs) == 6


def test_a_refused_fetch_is_not_made_and_hands_the_cell_back_with_the_reason() -> None:
    tomorrow = datetime(2030, 1, 2, tzinfo=UTC)
    store = FakeStore(replace(plan(rounds=5), endpoint=PRODUCTION))
    store.permissions = [GRANTED, GRANTED, Permission(False, reason="used up", not_before=tomorrow)]
    the_bench, _, runner = bench()
    assert not measure_cell(7, "w", store, the_bench, 20)
    assert len(runner.runs) == len(store.trials) == 2
    assert (store.state, store.waiting) == ("pending", ("used up", tomorrow))


def test_the_minimum_gap_is_waited_for() -> None:
    store = FakeStore(replace(plan(rounds=1), endpoint=PRODUCTION))
    store.permissions = [Permission(True, wait_s=0.02)] * 4
    started = time.monotonic()
    measure_cell(7, "w", store, bench()[0], 20)
    assert time.monotonic() - started >= 0.08


STOPPING = StoppingRule(min_rounds=6, max_rounds=30, target_width_pct=4.0, equivalence_pct=3.0)


def test_a_cell_ends_when_its_answer_is_known_and_says_what_it_saved() -> None:
    store = FakeStore(replace(plan(rounds=30), stopping=STOPPING))
    the_bench, _, runner = bench()
    assert measure_cell(7, "w", store, the_bench, 20)
    assert len(runner.runs) == 2 * 7, "the difference is the same in every round, so the first look suffices"
    assert (store.state, store.rounds_saved) == ("done", 24)


def test_a_cell_whose_answer_stays_open_runs_to_the_last_round() -> None:
    generator = random.Random(5)  # noqa: S311

    class Noisy(FakeRunner):
        def run(self, client: Client, target: Target, prefix: Sequence[str], timeout_s: float) -> Observation:
            seen = super().run(client, target, prefix, timeout_s)
            return replace(seen, timings=Timings(0.1, 0.2, generator.uniform(0.5, 2.0)))

    store = FakeStore(replace(plan(rounds=30), stopping=STOPPING))
    the_bench, _, runner = bench(Noisy())
    assert measure_cell(7, "w", store, the_bench, 20)
    assert (len(runner.runs), store.rounds_saved) == (62, 0)


@pytest.mark.parametrize("crashed_after", [3, 13, 14])
def test_a_cell_that_is_taken_over_stops_where_it_would_have_stopped(crashed_after: int) -> None:
    whole = FakeStore(replace(plan(rounds=30), stopping=STOPPING))
    measure_cell(7, "w", whole, bench()[0], 20)
    resumed = FakeStore(replace(plan(rounds=30), stopping=STOPPING))
    resumed.trials = dict(list(whole.trials.items())[:crashed_after])
    assert measure_cell(7, "other", resumed, bench()[0], 20)
    assert (list(resumed.trials), resumed.rounds_saved) == (list(whole.trials), 24)


def test_trials_out_of_tolerance_do_not_help_to_stop() -> None:
    store = FakeStore(replace(plan(rounds=30), stopping=STOPPING))
    the_bench = Bench(Link(FakePathFactory(), FakeMeter(steal_on=5)), FakeRunner(), FakeResolver(), threading.Event())
    measure_cell(7, "w", store, the_bench, 20)
    assert store.rounds_saved == 23, "one round more, since one had no pair"


class RichPath(FakePath):
    """A path with random numbers and timelines, that can tell its rate: 10 Mbit/s after so many wrong readings."""

    def __init__(self, wrong_rates: int = 0) -> None:
        super().__init__()
        self.said: list[object] = []
        self.probes = 0
        self.wrong_rates = wrong_rates

    def probe_link(self) -> LinkProbe:
        self.probes += 1
        way = DirectionProbe(10.0, 5.0 if self.probes <= self.wrong_rates else 10.0, 0.0, 1000, 0)
        return LinkProbe(way, way, 0.3)

    def reseed(self, seed: int) -> bool:
        self.said.append(seed)
        return True

    def start_timeline(self) -> None:
        self.said.append("start")

    def stop_timeline(self) -> Played:
        self.said.append("stop")
        return Played(steps=3, worst_late_ms=0.4)


def test_the_boxes_processes_are_looked_up_once_for_each_path() -> None:
    asked: list[object] = []
    factory = FakePathFactory()
    link = Link(factory, FakeMeter(), box_processes=lambda path: (asked.append(path), [1])[1])
    measure_cell(7, "w", FakeStore(plan(rounds=2)), Bench(link, FakeRunner(), FakeResolver(), threading.Event()), 20)
    assert asked == factory.opened


def test_the_arms_of_a_round_meet_the_same_random_numbers() -> None:
    lossy = replace(PROFILE, downlink=Impairment(delay_ms=25, loss_pct=1))
    store = FakeStore(replace(plan(rounds=2), profile=lossy))
    factory = FakePathFactory(RichPath)
    measure_cell(7, "w", store, Bench(Link(factory), FakeRunner(), FakeResolver(), threading.Event()), 20)
    seeds = [trial.proof.netem_seed for trial in store.trials.values() if trial.proof]
    assert factory.opened[0].said == seeds  # type: ignore[attr-defined]
    assert seeds[0::2] == seeds[1::2], "each arm of a round has the round's seed"
    assert len(set(seeds)) == 3, "each round has its own"
    assert seeds[0] == seed_of_round(42, ENDPOINT.id, lossy.name, 0)


def test_a_link_that_leaves_nothing_to_chance_is_not_seeded() -> None:
    store = FakeStore(plan(rounds=1))
    factory = FakePathFactory(RichPath)
    measure_cell(7, "w", store, Bench(Link(factory), FakeRunner(), FakeResolver(), threading.Event()), 20)
    assert factory.opened[0].said == []  # type: ignore[attr-defined]


def test_a_timeline_plays_while_a_trial_runs() -> None:
    spikes = replace(PROFILE, timeline=Timeline((Step(200.0),), 1000.0))
    store = FakeStore(replace(plan(rounds=1), profile=spikes))
    factory = FakePathFactory(RichPath)
    measure_cell(7, "w", store, Bench(Link(factory), FakeRunner(), FakeResolver(), threading.Event()), 20)
    assert factory.opened[0].said == ["start", "stop"] * 4  # type: ignore[attr-defined]
    assert {t.proof.played for t in store.trials.values() if t.proof} == {Played(3, 0.4)}


def test_a_cell_waits_for_a_calm_link_and_stores_how_often(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("lastbyte.services.link.time.sleep", slept.append)
    factory = FakePathFactory(lambda: FakePath(noise_ms=[40, 40, 0]))
    probe = Link(factory).shape(PROFILE, 10)
    assert (probe.waits, probe.calm, slept) == (2, True, [0.2, 0.5])


def test_the_wait_for_a_calm_link_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("lastbyte.services.link.time.sleep", slept.append)
    factory = FakePathFactory(lambda: FakePath(noise_ms=[40] * 99))
    probe = Link(factory).shape(PROFILE, 10)
    assert (probe.waits, probe.calm) == (4, False)
    assert sum(slept) < 5


@pytest.mark.parametrize(("wrong_rates", "repeats", "unproven"), [(0, 0, False), (1, 1, False), (99, 2, True)])
def test_rate_and_loss_are_probed_before_a_cell_and_again_while_they_are_wrong(
    wrong_rates: int, repeats: int, unproven: bool
) -> None:
    store = FakeStore(plan(rounds=1))
    link = Link(FakePathFactory(lambda: RichPath(wrong_rates)))
    measure_cell(7, "w", store, Bench(link, FakeRunner(), FakeResolver(), threading.Event()), 20)
    assert store.proof is not None
    assert store.proof.link is not None
    assert store.proof.link.repeats == repeats
    assert bool(link_out_of_tolerance(store.proof.link)) is unproven


def test_the_proof_of_the_cell_names_address_build_and_command() -> None:
    store = FakeStore(plan(rounds=1))
    measure_cell(7, "w", store, bench()[0], 20)
    assert store.proof is not None
    assert store.proof.address == "192.0.2.1"
    assert store.proof.rtt.requested_ms == 60
    assert set(store.proof.builds) == {H2.id, H3.id}
    assert store.proof.commands[H2.id] == ["fake", ENDPOINT.url]


def watching(
    cell: CellPlan, tmp_path: Path, policy: CapturePolicy = CapturePolicy.LAST_ROUND
) -> tuple[FakeStore, Bench]:
    the_bench, _, _ = bench()
    return FakeStore(replace(cell, capture=policy)), replace(the_bench, artifacts=PlainFiles(tmp_path))


def test_capture_rounds_follow_the_counted_ones_and_are_marked(tmp_path: Path) -> None:
    store, the_bench = watching(plan(rounds=2), tmp_path, CapturePolicy.LAST_THREE_ROUNDS)
    assert measure_cell(7, "w", store, the_bench, 20)
    assert [t.round_index for t in store.trials.values()] == [0, 0, 1, 1, 2, 2, -1, -1, -2, -2, -3, -3]
    for trial in store.trials.values():
        assert trial.is_capture == (trial.round_index < 0)
        assert trial.is_counted == (trial.round_index > 0)
        assert bool(trial.artifacts) == trial.is_capture


def test_a_redelivered_cell_makes_no_capture_twice(tmp_path: Path) -> None:
    store, the_bench = watching(plan(rounds=1), tmp_path)
    assert measure_cell(7, "w", store, the_bench, 20)
    before = dict(store.trials)
    store.state, store.owner = "pending", None
    assert measure_cell(7, "w2", store, the_bench, 20)
    assert store.trials == before
    assert isinstance(the_bench.runner, FakeRunner)
    assert len(the_bench.runner.runs) == len(before)


def test_nothing_is_captured_on_a_link_out_of_tolerance(tmp_path: Path) -> None:
    store, the_bench = watching(plan(rounds=1), tmp_path)

    class FarPath(FakePath):
        def probe_rtt(self, count: int, interval_s: float) -> RttProbe:
            probe = super().probe_rtt(count, interval_s)
            return replace(probe, samples_ms=tuple(sample + 40 for sample in probe.samples_ms))

    far = replace(the_bench, link=Link(FakePathFactory(FarPath)))
    assert measure_cell(7, "w", store, far, 20)
    assert not [t for t in store.trials.values() if t.is_capture]


def test_a_disk_that_is_full_is_a_reason_and_not_a_failed_trial(tmp_path: Path) -> None:
    store, the_bench = watching(plan(rounds=1), tmp_path)

    class Full(PlainFiles):
        def workspace(self) -> Any:
            raise OSError(errno.ENOSPC, "No space left on device")

    assert measure_cell(7, "w", store, replace(the_bench, artifacts=Full(tmp_path)), 20)
    captures = [t for t in store.trials.values() if t.is_capture]
    assert len(captures) == 2
    for trial in captures:
        assert trial.observation.ok
        assert "No space left" in trial.artifacts[0].dropped_reason


def test_captures_never_enter_the_stopping_of_a_cell(tmp_path: Path) -> None:
    store, the_bench = watching(replace(plan(rounds=12), stopping=StoppingRule(6, 12, 4.0, 3.0)), tmp_path)
    assert measure_cell(7, "w", store, the_bench, 20)
    assert store.rounds_saved == 6
    assert [t.round_index for t in store.trials.values()][-2:] == [-1, -1]


def test_captures_that_are_stored_do_not_keep_a_cell_going_that_is_delivered_again(tmp_path: Path) -> None:
    cell = replace(plan(rounds=12), stopping=StoppingRule(6, 12, 4.0, 3.0))
    store, the_bench = watching(cell, tmp_path, CapturePolicy.LAST_THREE_ROUNDS)
    assert measure_cell(7, "w", store, the_bench, 20)
    for key, trial in store.trials.items():  # as watching may slow a client down
        if trial.is_capture and trial.client_id == H3.id:
            slow = replace(trial.observation, timings=Timings(0.1, 0.2, 50.0))
            store.trials[key] = replace(trial, observation=slow)
    before = dict(store.trials)
    store.state, store.owner = "pending", None
    assert measure_cell(7, "w2", store, the_bench, 20)
    assert (store.trials, store.rounds_saved) == (before, 6)


def test_a_watched_trial_has_from_its_packets_what_its_client_did_not_say(tmp_path: Path) -> None:
    seen = TlsDetails("TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519", GroupSource.SERVER_HELLO)

    class Tapped(FakePath):
        def tap(self, limit_bytes: int) -> Any:
            return nullcontext(SimpleNamespace(cut_off=0, lost=0, write_pcap=lambda file: file.write_bytes(b"packets")))

    class Reticent(FakeRunner):
        def run(self, *arguments: Any) -> Observation:
            observation = super().run(*arguments)
            over_h2 = observation.http_version == "2"
            return replace(observation, tls=TlsDetails("TLSv1.3", *(("C", "G") if over_h2 else ())))

    store, the_bench = watching(plan(rounds=1), tmp_path)
    link = Link(FakePathFactory(Tapped))
    told = {b"packets": seen}
    assert measure_cell(7, "w", store, replace(the_bench, link=link, runner=Reticent(), tls_of_pcap=told.get), 20)
    assert store.trials[-1, H3.id].observation.tls == seen
    assert store.trials[-1, H2.id].observation.tls == TlsDetails("TLSv1.3", "C", "G")
    assert store.trials[1, H3.id].observation.tls == TlsDetails("TLSv1.3"), "of counted trials there are no packets"

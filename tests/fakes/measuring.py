"""Fakes of what a measurement touches, for unit tests of the use cases only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Self

from lastbyte.domain.client import Client, ClientBuild, Protocol
from lastbyte.domain.courtesy import GRANTED, Permission
from lastbyte.domain.endpoint import Endpoint, Origin
from lastbyte.domain.errors import PathLost, ResolutionFailed
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.trial import DirectionCounters, Failure, FailureKind, Observation, Timings, Trial
from lastbyte.ports import CellPlan, CellProof, CounterSnapshot, HostReading, Outcome, RttProbe, Target

H2 = Client("fake-h2", "fake", Protocol.H2, "Fake over HTTP/2", ("{url}",), "curl-json")
H3 = Client("fake-h3", "fake", Protocol.H3, "Fake over HTTP/3", ("{url}",), "curl-json")
ENDPOINT = Endpoint("near-1MB", "near", "https://near.test/1MB.bin", "1MB", origin=Origin.TESTBED, base_rtt_ms=10.0)
PROFILE = Profile("delay-50", downlink=Impairment(delay_ms=25), uplink=Impairment(delay_ms=25))


def plan(rounds: int = 3, done: frozenset[tuple[int, str]] = frozenset()) -> CellPlan:
    """A cell of two arms."""
    return CellPlan(7, "campaign", 42, rounds, ENDPOINT, PROFILE, (H2, H3), done)


class FakePath:
    """A path in memory; ``die()`` kills its box. ``backlogs`` are the queue lengths of the next readings, ``noise_ms``
    the delay of every fifth ping of the next probes."""

    box_kind = "fake"

    def __init__(self, noise_ms: Sequence[float] = ()) -> None:
        self.noise_ms = list(noise_ms)
        self.alive = True
        self.closed = 0
        self.shape: tuple[Profile, float] | None = None
        self.packets = 0
        self.backlogs: list[int] = []

    def die(self) -> None:
        self.alive = False

    def _check(self) -> None:
        if not self.alive:
            raise PathLost("the box is gone")

    def configure(self, profile: Profile, base_rtt_ms: float = 0.0) -> None:
        self._check()
        self.shape = (profile, base_rtt_ms)

    def command_prefix(self) -> tuple[str, ...]:
        return ("inside",)

    def probe_rtt(self, count: int, interval_s: float) -> RttProbe:
        self._check()
        assert self.shape is not None
        requested = self.shape[0].extra_rtt_ms + self.shape[1]
        noise_ms = self.noise_ms.pop(0) if self.noise_ms else 0.0
        return RttProbe(requested, tuple(requested + 0.1 + (0 if n % 5 else noise_ms) for n in range(count)))

    def counters(self) -> CounterSnapshot:
        self._check()
        self.packets += 10
        backlog = self.backlogs.pop(0) if self.backlogs else 0
        direction = DirectionCounters(self.packets, self.packets * 1000, 0, backlog)
        return CounterSnapshot(direction, direction, 0)

    def is_alive(self) -> bool:
        return self.alive

    def close(self) -> None:
        self.closed += 1
        self.alive = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class FakePathFactory:
    """Opens fake paths and remembers them; ``make`` may raise."""

    def __init__(self, make: Callable[[], FakePath] = FakePath) -> None:
        self.opened: list[FakePath] = []
        self._make = make

    def open(self) -> FakePath:
        path = self._make()
        self.opened.append(path)
        return path


class FakeMeter:
    """A machine whose clock goes on by a second with each reading; its hypervisor steals during trial ``steal_on``."""

    def __init__(self, steal_on: int = 0) -> None:
        self.described = 0
        self._steal_on = steal_on
        self._readings = 0
        self._steal_s = 0.0

    def read(self, box_pids: Sequence[int]) -> HostReading:
        self._readings += 1
        if self._readings == 2 * self._steal_on:
            self._steal_s += 1.0
        return HostReading(float(self._readings), 2.0 * self._readings, self._readings, self._steal_s, 0.5)

    def describe(self, prefix: Sequence[str]) -> dict[str, object]:
        self.described += 1
        return {"kernel": "fake"}


class FakeResolver:
    """Pins everything to one address, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self._fails = fails

    def resolve(self, endpoint: Endpoint) -> Target:
        if self._fails:
            raise ResolutionFailed(f"{endpoint.host} has no address")
        return Target(endpoint, "192.0.2.1", 0.001)


class FakeRunner:
    """Every fetch takes 1 s over H2 and 0.9 s over H3; ``before`` runs first and may break things."""

    def __init__(self, before: Callable[[int], None] = lambda _count: None) -> None:
        self.runs: list[str] = []
        self._before = before
        self.terminated = threading.Event()

    def build_of(self, client: Client) -> ClientBuild:
        return ClientBuild(client.program, "/bin/fake", "fake 1.0", "0" * 64)

    def command_for(self, client: Client, target: Target, timeout_s: float) -> list[str]:
        return ["fake", target.endpoint.url]

    def run(self, client: Client, target: Target, prefix: Sequence[str], timeout_s: float) -> Observation:
        self._before(len(self.runs))
        self.runs.append(client.id)
        ttlb_s = 1.0 if client.protocol is Protocol.H2 else 0.9
        return Observation(datetime.now(UTC), Timings(0.1, 0.2, ttlb_s), None, 0, 200, client.protocol.value[1:])

    def terminate_current(self) -> None:
        self.terminated.set()


def failing(kind: FailureKind) -> Observation:
    """A failed observation."""
    return Observation(datetime.now(UTC), None, Failure(kind, "raw"), 1)


class FakeStore:
    """One cell in memory with the rules of CellStore."""

    def __init__(self, cell: CellPlan) -> None:
        self.plan = cell
        self.trials: dict[tuple[int, str], Trial] = {}
        self.owner: str | None = None
        self.state = "pending"
        self.proof: CellProof | None = None
        self.cancelled = False
        self.reserved = 0
        self.permissions: list[Permission] = []
        self.rounds_saved = 0
        self.waiting: tuple[str, datetime | None] = ("", None)
        self.crashes: list[str] = []

    def claim(self, cell_id: int, worker: str, lease_s: float) -> CellPlan | None:
        if self.state in ("done", "cancelled") or (self.owner not in (None, worker)):
            return None
        self.owner, self.state = worker, "running"
        p = self.plan
        return replace(p, done=frozenset(self.trials), stored=tuple(self._outcomes()))

    def _outcomes(self) -> Iterator[Outcome]:
        for trial in self.trials.values():
            timings, failure = trial.observation.timings, trial.observation.failure
            if not trial.is_warmup:
                kind = failure.kind.value if failure else "ok"
                ttlb_s = timings.ttlb_s if timings else None
                yield Outcome(7, trial.round_index, trial.client_id, kind, ttlb_s, trial.unproven_reason)

    def extend_lease(self, cell_id: int, worker: str, lease_s: float) -> bool:
        return self.owner == worker

    def store_proof(self, cell_id: int, worker: str, proof: CellProof) -> None:
        self.proof = proof

    def store_trial(self, cell_id: int, worker: str, trial: Trial) -> bool:
        if self.cancelled:
            self.state, self.owner = "cancelled", None
            return False
        self.trials.setdefault((trial.round_index, trial.client_id), trial)
        return True

    def reserve_request(self, cell_id: int, worker: str) -> Permission:
        self.reserved += 1
        return self.permissions.pop(0) if self.permissions else GRANTED

    def finish(self, cell_id: int, worker: str, rounds_saved: int = 0) -> None:
        self.state, self.owner, self.rounds_saved = "done", None, rounds_saved

    def note_crash(self, cell_id: int, reason: str) -> None:
        self.crashes.append(reason)

    def release(self, cell_id: int, worker: str, reason: str = "", not_before: datetime | None = None) -> None:
        if self.owner == worker:
            self.state, self.owner, self.waiting = "pending", None, (reason, not_before)

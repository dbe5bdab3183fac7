"""What the use cases need from the outside world, as Protocols; adapters implement them, entry points wire them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path as FilePath
from typing import Generic, Protocol, Self, TypeVar, runtime_checkable

from lastbyte.domain.campaign import CampaignSpec, CampaignState, CellState, StoppingRule
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.courtesy import Permission
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile
from lastbyte.domain.timeline import Played
from lastbyte.domain.trial import DirectionCounters, Observation, Trial


@dataclass(frozen=True, slots=True)
class CounterSnapshot:
    """Counters of a path since its qdiscs were set, at one moment."""

    downlink: DirectionCounters
    uplink: DirectionCounters
    udp_rcvbuf_errors: int


@dataclass(frozen=True, slots=True)
class RttProbe:
    """Round-trip times through the box, in milliseconds; empty when no answer came."""

    requested_ms: float
    samples_ms: tuple[float, ...]
    lost: int = 0
    waits: int = 0
    """How often the cell waited for the link to calm down before this probe."""
    calm: bool = True
    """False when the link was still outside the ambient gate after the last wait."""


@runtime_checkable
class Path(Protocol):
    """A live link that carries one trial at a time."""

    @property
    def box_kind(self) -> str:
        """``kernel`` or ``uml``."""

    def configure(self, profile: Profile, base_rtt_ms: float = 0.0) -> None:
        """Shape the link by ``profile`` plus ``base_rtt_ms`` of distance, half of it each way.

        Raises PathLost when the box is gone.
        """

    def command_prefix(self) -> tuple[str, ...]:
        """Arguments that make a command run in the client's namespace."""

    def probe_rtt(self, count: int, interval_s: float) -> RttProbe:
        """Round trips between the client and the far side of the box; raises PathLost."""

    def counters(self) -> CounterSnapshot:
        """Both qdiscs' counters and the client's UDP errors now; raises PathLost."""

    def is_alive(self) -> bool:
        """True while the box and the namespaces are there."""

    def close(self) -> None:
        """Remove all that was made; may be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


@runtime_checkable
class Seedable(Protocol):
    """A path that can begin its random numbers anew; others need not have this."""

    def reseed(self, seed: int) -> bool:
        """Begin anew from ``seed``; False, and nothing done, where the box can't. Raises PathLost."""


@runtime_checkable
class PlaysTimelines(Protocol):
    """A path that changes while a trial runs; others need not have this."""

    def start_timeline(self) -> None:
        """Begin to play the profile's timeline, now; nothing to do without one. Raises PathLost."""

    def stop_timeline(self) -> Played | None:
        """End it and put the profile back as it is at rest; None when none was played. Raises PathLost."""


class PathFactory(Protocol):
    """Opens paths."""

    def open(self) -> Path:
        """A fresh path; raises PathUnavailable saying what is missing."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """Counters of the machine since it started, at one moment."""

    at_s: float
    """Monotonic clock, in seconds."""
    cpu_s: float
    """All CPUs' time together, in seconds."""
    idle_s: float
    steal_s: float
    load1: float
    pressure_s: float | None = None
    """Time in which some task waited for a CPU; None where the kernel does not count it."""
    box_s: float | None = None
    """CPU time of the box's processes; None when it has none."""


class HostMeter(Protocol):
    """Reads the machine that measures."""

    def read(self, box_pids: Sequence[int]) -> HostReading | None:
        """Now; None where this machine does not tell. Well below a millisecond."""

    def describe(self, prefix: Sequence[str]) -> Mapping[str, object]:
        """What may matter to a result and does not change while a path lives, as JSON values; read on the client's
        side of the path, where ``prefix`` makes commands run."""


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint with its address pinned."""

    endpoint: Endpoint
    address: str
    """IPv4 or IPv6 literal that every arm connects to."""
    resolution_s: float = 0.0
    """Time that name resolution took, in seconds; never part of TTLB."""
    ca_file: FilePath | None = None
    """CA bundle that every arm trusts; None: each program's own default."""


class Resolver(Protocol):
    """Pins an endpoint to an address, outside the shaped path."""

    def resolve(self, endpoint: Endpoint) -> Target:
        """Raises ResolutionFailed."""


class ClientRunner(Protocol):
    """Runs one fetch."""

    def build_of(self, client: Client) -> ClientBuild:
        """The installed build; raises ClientUnavailable."""

    def command_for(self, client: Client, target: Target, timeout_s: float) -> list[str]:
        """The exact argument list, without the namespace prefix, to show or to run by hand."""

    def run(self, client: Client, target: Target, prefix: Sequence[str], timeout_s: float) -> Observation:
        """Fetch once; a failed fetch is an Observation with a failure, never an exception."""

    def terminate_current(self) -> None:
        """End the fetch under way, from another thread; nothing to do when there is none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a heatmap needs of one counted trial."""

    cell_id: int
    round_index: int
    client_id: str
    kind: str
    """``ok`` or the kind of failure."""
    ttlb_s: float | None
    unproven_reason: str = ""
    """Why the trial is kept out of comparisons; empty when it is not."""
    body_bytes: int | None = None
    elapsed_s: float = 0.0
    """Wall time of the client, in seconds: of a trial that timed out, TTLB is at least that."""
    handshake_s: float | None = None
    """Start to handshake done; None: failed, not reported, or not asked for."""
    ttfb_s: float | None = None
    """Start to first byte; None as above."""


@dataclass(frozen=True, slots=True)
class CellPlan:
    """All that a worker needs to measure one cell."""

    cell_id: int
    campaign_id: str
    seed: int
    rounds: int
    """Counted rounds, at most."""
    endpoint: Endpoint
    profile: Profile
    clients: tuple[Client, ...]
    done: frozenset[tuple[int, str]] = frozenset()
    """(round_index, client_id) of the trials that are already stored."""
    timeout_s: float = 60.0
    stopping: StoppingRule | None = None
    """When the cell may end before ``rounds``; None: never."""
    stored: tuple[Outcome, ...] = ()
    """What the stored trials of counted rounds gave."""


@dataclass(frozen=True, slots=True)
class CellProof:
    """What is stored once per cell: where it went and what the link was before the first trial."""

    box_kind: str
    address: str
    resolution_s: float
    rtt: RttProbe
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Exact command per client."""
    builds: Mapping[str, ClientBuild] = field(default_factory=dict)
    """Exact build per client."""
    machine: Mapping[str, object] = field(default_factory=dict)
    """Record of the machine and the path, as JSON values: kernel, clock source, socket buffers, congestion control, CA
    bundle, box, offloads."""


class CellStore(Protocol):
    """Where a worker reads its plan and stores what it measured. Each call is a transaction of its own."""

    def claim(self, cell_id: int, worker: str, lease_s: float) -> CellPlan | None:
        """Take the cell for ``worker``; None when it is done, cancelled or held by another living worker."""

    def extend_lease(self, cell_id: int, worker: str, lease_s: float) -> bool:
        """Keep the cell; False when it was lost to another worker or cancelled."""

    def store_proof(self, cell_id: int, worker: str, proof: CellProof) -> None:
        """Store or replace the proof of the cell."""

    def store_trial(self, cell_id: int, worker: str, trial: Trial) -> bool:
        """Store a trial once (a second one for the same round and arm is dropped).

        False when the cell should be left: cancelled or lost.
        """

    def reserve_request(self, cell_id: int, worker: str) -> Permission:
        """Ask before each fetch from a host that is not ours; what is granted is counted at once."""

    def finish(self, cell_id: int, worker: str, rounds_saved: int = 0) -> None:
        """Mark the cell done, and its campaign when it was the last one; ``rounds_saved`` were not needed."""

    def release(self, cell_id: int, worker: str, reason: str = "", not_before: datetime | None = None) -> None:
        """Hand the cell back unfinished; with ``not_before`` nobody takes it until then, and ``reason`` says why."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a campaign is."""

    cells_planned: int
    cells_done: int
    trials_planned: int
    """At most, the warm-up rounds included."""
    trials_done: int
    """Stored trials, the failed ones too."""
    trials_failed: int
    busy_s: float
    """Seconds that workers have spent on its cells so far."""
    cells_running: int
    """Cells that a living worker holds now."""
    rounds_saved: int = 0
    """Rounds that cells did not need, since their answer was known before the last."""
    trials_saved: int = 0
    """Trials of those rounds; planned, but never to be done."""
    waiting_for: tuple[str, ...] = ()
    """Why some cells must wait, each reason once."""


@dataclass(frozen=True, slots=True)
class CampaignRecord:
    """A campaign as it is stored."""

    id: str
    spec: CampaignSpec
    state: CampaignState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    progress: Progress
    source: Mapping[str, object] | None = None
    """Where an imported campaign came from, as JSON values; None: it was measured here."""


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """A campaign to create: its spec with the catalogue's content of this moment."""

    spec: CampaignSpec
    endpoints: tuple[Endpoint, ...]
    profiles: tuple[Profile, ...]
    clients: tuple[Client, ...]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class OpenCell:
    """A cell that waits for a worker."""

    cell_id: int
    vantage: str

    @property
    def queue(self) -> str:
        """Name of the broker's queue that the vantage's workers read."""
        return queue_of(self.vantage)


def queue_of(vantage: str) -> str:
    """Each vantage has one queue."""
    return f"vantage.{vantage}"


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """One page of a longer list."""

    items: tuple[T, ...]
    total: int
    next: str | None
    """Cursor of the page after this one; None on the last."""


class CampaignStore(Protocol):
    """Campaigns and their progress. Each call is a transaction of its own."""

    def create(self, plan: CampaignPlan) -> str:
        """Store the campaign with all its cells, or nothing; gives its id."""

    def get(self, campaign_id: str) -> CampaignRecord:
        """Raises NotFound."""

    def page(self, state: CampaignState | None, limit: int, cursor: str | None) -> Slice[CampaignRecord]:
        """Newest first; raises InvalidInput for a cursor that is none."""

    def cancel(self, campaign_id: str) -> bool:
        """Stop it and its open cells; False when it was over already. Raises NotFound."""

    def dispatchable_cells(self, limit: int, campaign_id: str | None = None) -> list[OpenCell]:
        """Cells of living campaigns that nobody measures: pending, or held by a worker whose lease ran out.

        At most ``limit`` of each vantage, oldest first.
        """


@dataclass(frozen=True, slots=True)
class CellRecord:
    """A cell with what was frozen when it was planned."""

    cell_id: int
    endpoint: Endpoint
    profile: Profile
    state: CellState
    proof: CellProof | None


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A trial as it is stored, with where it belongs."""

    id: int
    cell_id: int
    endpoint_id: str
    profile_name: str
    trial: Trial
    build: ClientBuild | None


@dataclass(frozen=True, slots=True)
class TrialFilter:
    """Which trials of a campaign; None: any."""

    endpoint_id: str | None = None
    profile_name: str | None = None
    client_id: str | None = None
    outcome: str | None = None


class ResultStore(Protocol):
    """What was measured."""

    def cells(self, campaign_id: str) -> list[CellRecord]:
        """In the order they were planned."""

    def arms(self, campaign_id: str) -> list[Client]:
        """The clients of the campaign as frozen when it was planned, in order."""

    def outcomes(self, campaign_id: str, client_ids: Sequence[str]) -> list[Outcome]:
        """Trials of these arms in the counted rounds (1 and up)."""

    def trials(self, campaign_id: str, which: TrialFilter, limit: int, cursor: str | None) -> Slice[TrialRecord]:
        """In the order they were stored; raises InvalidInput for a cursor that is none."""

    def all_trials(self, campaign_id: str) -> Iterator[TrialRecord]:
        """Every trial of the campaign, streamed in the order they were stored."""


@dataclass(frozen=True, slots=True)
class SeenBuild:
    """A build that ran a trial somewhere."""

    build: ClientBuild
    first_seen_at: datetime


class Catalogue(Protocol):
    """What can be measured, and with what."""

    def sync(self, endpoints: Sequence[Endpoint], profiles: Sequence[Profile], clients: Sequence[Client]) -> None:
        """Make the catalogue be these; what is no longer there is kept for old campaigns, but not listed."""

    def endpoints(self) -> list[Endpoint]:
        """In catalogue order."""

    def profiles(self) -> list[Profile]:
        """In catalogue order."""

    def clients(self) -> list[Client]:
        """In catalogue order."""

    def builds(self) -> list[SeenBuild]:
        """Oldest first."""

    def ping(self) -> None:
        """Raises StoreUnavailable when the store does not answer."""


@dataclass(frozen=True, slots=True)
class InstalledClient:
    """A client that a vantage has."""

    id: str
    version: str
    sha256: str
    ceiling_mbit_s: float | None = None
    """Unshaped rate of this build there (``lastbyte ceilings``); None: not measured."""


@dataclass(frozen=True, slots=True)
class Vantage:
    """What a worker says of the place it measures from."""

    name: str
    box_kind: str
    hostname: str
    kernel: str
    clients: tuple[InstalledClient, ...] = ()
    trouble: str = ""
    """Why nothing can be measured there now; empty when it can."""


@dataclass(frozen=True, slots=True)
class SeenVantage:
    """A vantage with its last heartbeat."""

    vantage: Vantage
    last_seen_at: datetime
    alive: bool
    """True when a heartbeat came within the last 60 seconds."""


class VantageStore(Protocol):
    """Where workers are."""

    def heartbeat(self, vantage: Vantage) -> None:
        """Say that the vantage is alive, and what it has."""

    def vantages(self) -> list[SeenVantage]:
        """By name."""


class CellQueue(Protocol):
    """How cells get to workers; the database stays the truth, a lost message is sent again by the dispatcher."""

    def enqueue(self, cells: Sequence[OpenCell]) -> None:
        """Send each cell to its vantage's queue; raises QueueUnavailable."""

    def depth(self, vantage: str) -> int:
        """Messages that wait for the vantage; raises QueueUnavailable."""

    def ping(self) -> None:
        """Raises QueueUnavailable when the broker does not answer."""

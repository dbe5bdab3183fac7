"""What the use cases need from the outside world, as Protocols; adapters implement them, entry points wire them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Protocol, Self, runtime_checkable

from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile
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


class PathFactory(Protocol):
    """Opens paths."""

    def open(self) -> Path:
        """A fresh path; raises PathUnavailable saying what is missing."""


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


@dataclass(frozen=True, slots=True)
class CellPlan:
    """All that a worker needs to measure one cell."""

    cell_id: int
    campaign_id: str
    seed: int
    rounds: int
    endpoint: Endpoint
    profile: Profile
    clients: tuple[Client, ...]
    done: frozenset[tuple[int, str]] = frozenset()
    """(round_index, client_id) of the trials that are already stored."""
    timeout_s: float = 60.0


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

    def finish(self, cell_id: int, worker: str) -> None:
        """Mark the cell done, and its campaign when it was the last one."""

    def release(self, cell_id: int, worker: str) -> None:
        """Hand the cell back unfinished."""

"""Where a worker reads its plan of a cell and stores what it measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lastbyte.domain.campaign import StoppingRule
from lastbyte.domain.capture import CapturePolicy
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.courtesy import Permission
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.link_probe import LinkProbe
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import Trial
from lastbyte.ports.path import RttProbe


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
    body: str = ""
    """Beginning of the body's digest; empty where there is none."""
    tls: str = ""
    """What the handshake agreed on, in a line; empty where nothing is known."""


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
    capture: CapturePolicy = CapturePolicy.NEVER
    """Which rounds on top are watched."""


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
    link: LinkProbe | None = None
    """Rate and loss of the link; None for cells that were stored before this was probed."""


class CellStore(Protocol):
    """Where a worker reads its plan and stores what it measured. Each call is a transaction of its own."""

    def claim(self, cell_id: int, worker: str, lease_s: float) -> CellPlan | None:
        """Take the cell for ``worker``; None when it is done, paused, cancelled or held by another living worker."""

    def extend_lease(self, cell_id: int, worker: str, lease_s: float) -> bool:
        """Keep the cell; False when it was lost to another worker, paused or cancelled."""

    def store_proof(self, cell_id: int, worker: str, proof: CellProof) -> None:
        """Store or replace the proof of the cell."""

    def store_trial(self, cell_id: int, worker: str, trial: Trial) -> bool:
        """Store a trial once, with its artifacts (a second one for the same round and arm is dropped).

        False when the cell should be left: paused, cancelled or lost.
        """

    def reserve_request(self, cell_id: int, worker: str) -> Permission:
        """Ask before each fetch from a host that is not ours; what is granted is counted at once."""

    def finish(self, cell_id: int, worker: str, rounds_saved: int = 0) -> None:
        """Mark the cell done, and its campaign when it was the last one; ``rounds_saved`` were not needed."""

    def note_crash(self, cell_id: int, reason: str) -> None:
        """Say that a cell that was handed back met an unexpected error; after three in a row it is given up."""

    def release(self, cell_id: int, worker: str, reason: str = "", not_before: datetime | None = None) -> None:
        """Hand the cell back unfinished; with ``not_before`` nobody takes it until then, and ``reason`` says why."""

"""What was measured, to be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from lastbyte.domain.campaign import CellState
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import Trial
from lastbyte.ports.cells import CellProof, Outcome
from lastbyte.ports.paging import Slice


@dataclass(frozen=True, slots=True)
class CellRecord:
    """A cell with what was frozen when it was planned."""

    cell_id: int
    endpoint: Endpoint
    profile: Profile
    state: CellState
    proof: CellProof | None
    given_up: str = ""
    """Why it was put in quarantine; empty when it was not."""
    version: int | None = None
    """Grows with each stored trial and proof: together with ``state``, what was made of the cell still holds. None: the
    cell is in no database."""


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
    provider: str | None = None
    cell_id: int | None = None
    round_index: int | None = None
    warmup: bool | None = None
    """Only the warm-up rounds, or only the others."""
    failed: bool | None = None
    unproven: bool | None = None
    """Only those kept out of comparisons, or only the others."""
    started_from: datetime | None = None
    started_to: datetime | None = None
    """Exclusive."""
    ttlb_from_s: float | None = None
    ttlb_to_s: float | None = None
    """Inclusive; a trial that failed has none."""


TrialOrder = Literal["id", "started_at", "ttlb", "elapsed"]
"""``id``: as they were stored; ``ttlb``: trials that failed have none and come as the longest."""


class ResultStore(Protocol):
    """What was measured."""

    def cells(self, campaign_id: str) -> list[CellRecord]:
        """In the order they were planned."""

    def arms(self, campaign_id: str) -> list[Client]:
        """The clients of the campaign as frozen when it was planned, in order."""

    def outcomes(
        self, campaign_id: str, client_ids: Sequence[str], cell_ids: Sequence[int] | None = None
    ) -> list[Outcome]:
        """Trials of these arms in the counted rounds (1 and up), of some cells of the campaign or (None) all."""

    def trials(
        self,
        campaign_id: str,
        which: TrialFilter,
        limit: int,
        cursor: str | None,
        order: TrialOrder = "id",
        *,
        descending: bool = False,
    ) -> Slice[TrialRecord]:
        """Raises InvalidInput for a cursor that is none of this order."""

    def all_trials(self, campaign_id: str, which: TrialFilter | None = None) -> Iterator[TrialRecord]:
        """Every trial of the campaign (that fits), streamed in the order they were stored."""


@dataclass(frozen=True, slots=True)
class CellStatus:
    """A cell with where it belongs and how far it is."""

    record: CellRecord
    campaign_id: str
    vantage: str
    trials_planned: int
    """At most, the warm-up round included."""
    trials_done: int
    trials_failed: int
    rounds_saved: int
    waiting_for: str | None
    """Why nobody measures it now, where something must be waited for."""
    busy_s: float
    """Seconds that workers have spent on it."""
    started_at: datetime | None
    finished_at: datetime | None
    builds: Mapping[str, ClientBuild] = field(default_factory=dict)
    """Exact build per client, once it was measured."""


@dataclass(frozen=True, slots=True)
class CellEnd:
    """The end of a cell: a place in the order in which the cells of a campaign ended."""

    finished_at: datetime
    cell_id: int


@dataclass(frozen=True, slots=True)
class CellFilter:
    """Which cells of a campaign; None: any."""

    endpoint_id: str | None = None
    provider: str | None = None
    profile_name: str | None = None
    state: CellState | None = None


class CellReader(Protocol):
    """Cells one by one."""

    def page(self, campaign_id: str, which: CellFilter, limit: int, cursor: str | None) -> Slice[CellStatus]:
        """In the order they were planned; raises InvalidInput for a cursor that is none."""

    def cell(self, cell_id: int) -> CellStatus:
        """Raises NotFound."""

    def trials(self, cell_id: int) -> list[TrialRecord]:
        """Every trial of the cell that is kept, by round and place in it, the warm-up round first."""

    def finished(self, campaign_id: str, after: CellEnd | None, limit: int) -> list[CellStatus]:
        """Cells that ended after this one, in the order in which they did; None: from the first."""

    def last_finished(self, campaign_id: str) -> CellEnd | None:
        """The cell that ended last."""

    def outcomes(self, cell_id: int) -> list[Outcome]:
        """What comparisons need of its counted trials (rounds 1 and up), kept for as long as the cell."""

"""Campaigns and their progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lastbyte.domain.campaign import CampaignSpec, CampaignState, Priority
from lastbyte.domain.client import Client
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile
from lastbyte.ports.paging import Slice


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
    cells_given_up: int = 0
    """Cells in quarantine: workers crashed over them."""
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
    labels: tuple[str, ...] = ()
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
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CampaignFilter:
    """Which campaigns; None or empty: any."""

    state: CampaignState | None = None
    labels: tuple[str, ...] = ()
    """All of these."""
    name: str | None = None
    """A part of the name, in either case."""
    provider: str | None = None
    """One of its endpoints is of this provider."""
    vantage: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    """Exclusive."""


@dataclass(frozen=True, slots=True)
class OpenCell:
    """A cell that waits for a worker."""

    cell_id: int
    vantage: str
    priority: Priority = Priority.NORMAL

    @property
    def queue(self) -> str:
        """Name of the broker's queue that the vantage's workers read."""
        return queue_of(self.vantage)


def queue_of(vantage: str) -> str:
    """Each vantage has one queue."""
    return f"vantage.{vantage}"


class CampaignStore(Protocol):
    """Campaigns and their progress. Each call is a transaction of its own."""

    def create(self, plan: CampaignPlan) -> str:
        """Store the campaign with all its cells, or nothing; gives its id."""

    def get(self, campaign_id: str) -> CampaignRecord:
        """Raises NotFound."""

    def page(self, which: CampaignFilter, limit: int, cursor: str | None) -> Slice[CampaignRecord]:
        """Newest first; raises InvalidInput for a cursor that is none."""

    def cancel(self, campaign_id: str) -> bool:
        """Stop it and its open cells; False when it was over already. Raises NotFound."""

    def pause(self, campaign_id: str) -> bool:
        """Take its open cells from the workers until it is resumed; False when it is over or paused already.

        Raises NotFound.
        """

    def resume(self, campaign_id: str) -> bool:
        """Let it go on; False when it is not paused. Raises NotFound."""

    def edit(self, campaign_id: str, name: str | None, labels: Sequence[str] | None) -> None:
        """Change what is not None. Raises NotFound."""

    def delete(self, campaign_id: str) -> bool:
        """Remove it with all its cells and trials; False, with nothing removed, unless it is over. Raises NotFound."""

    def seconds_per_trial(
        self, endpoint_ids: Sequence[str], profile_names: Sequence[str]
    ) -> dict[tuple[str, str], float]:
        """Mean time that a worker spent per trial in finished cells, by (endpoint id, profile name)."""

    def dispatchable_cells(self, limit: int, campaign_id: str | None = None) -> list[OpenCell]:
        """Cells of living campaigns that nobody measures: pending, or held by a worker whose lease ran out.

        At most ``limit`` of each vantage and priority, the highest and oldest first.
        """

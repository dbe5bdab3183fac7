"""Results over time, and what people noted about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lastbyte.domain.profile import Profile
from lastbyte.ports.cells import CellProof, Outcome


@dataclass(frozen=True, slots=True)
class TrendFilter:
    """Which cells of which campaigns; None or empty: any."""

    endpoint_ids: tuple[str, ...]
    profile_names: tuple[str, ...]
    vantage: str | None = None
    labels: tuple[str, ...] = ()
    """All of these."""
    measured_from: datetime | None = None
    measured_to: datetime | None = None
    """Exclusive."""


@dataclass(frozen=True, slots=True)
class TrendCell:
    """A cell with the time at which it was measured."""

    cell_id: int
    version: int
    """A cell of the same version has the same trials and the same proof."""
    endpoint_id: str
    profile_name: str
    campaign_id: str
    campaign_name: str
    vantage: str
    measured_at: datetime


@dataclass(frozen=True, slots=True)
class Annotation:
    """What somebody noted about a moment."""

    id: int
    at: datetime
    text: str
    endpoint_id: str | None
    """None: it concerns everything."""
    created_at: datetime


class TrendReader(Protocol):
    """Cells over time."""

    def cells(self, which: TrendFilter, limit: int) -> list[TrendCell]:
        """Cells with trials, the latest ``limit`` of them, oldest first."""

    def links(self, cell_ids: Sequence[int]) -> Mapping[int, tuple[CellProof | None, Profile]]:
        """The proof (None: not probed) and the profile of these cells; of the proof, only the probes are there."""

    def outcomes(self, cell_ids: Sequence[int], client_ids: Sequence[str] | None = None) -> list[Outcome]:
        """Counted trials (rounds 1 and up) of these arms (None: of all) in these cells, without phases and bodies."""


class AnnotationStore(Protocol):
    """Notes that stand beside trends."""

    def annotations(self, at_from: datetime | None = None, at_to: datetime | None = None) -> list[Annotation]:
        """Oldest first; ``at_to`` is exclusive."""

    def add(self, at: datetime, text: str, endpoint_id: str | None) -> Annotation:
        """Store a note."""

    def remove(self, annotation_id: int) -> None:
        """Raises NotFound."""

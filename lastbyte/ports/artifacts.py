"""Where the files that watched trials leave are kept."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path as FilePath
from typing import Protocol

from lastbyte.domain.capture import Artifact, ArtifactKind
from lastbyte.ports.paging import Slice


class ArtifactSink(Protocol):
    """Takes in files; trouble with them is never a failed trial."""

    def workspace(self) -> AbstractContextManager[FilePath]:
        """An empty folder that is gone with the block; raises OSError."""

    def keep(self, kind: ArtifactKind, file_name: str, file: FilePath) -> Artifact:
        """Take the file in; with a reason in place of its bytes when they can't be kept."""


@dataclass(frozen=True, slots=True)
class TraceFiles:
    """The bytes of a fetch's files, decompressed; None: there is none."""

    pcap: bytes | None = None
    key_log: bytes | None = None
    qlog: bytes | None = None


@dataclass(frozen=True, slots=True)
class WatchedTrial:
    """A trial that was, or could have been, watched."""

    id: int
    cell_id: int
    campaign_id: str
    client_id: str
    protocol: str
    """``h2`` or ``h3``."""
    round_index: int
    outcome: str
    ttlb_s: float | None
    unproven_reason: str


@dataclass(frozen=True, slots=True)
class ArtifactRecord:
    """An artifact as it is stored, with the trial that left it."""

    id: int
    trial_id: int
    cell_id: int
    campaign_id: str
    endpoint_id: str
    profile_name: str
    client_id: str
    round_index: int
    vantage: str
    """Where it was measured, and so on whose disk the bytes are."""
    artifact: Artifact
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ArtifactFilter:
    """Which artifacts; None: any."""

    campaign_id: str | None = None
    cell_id: int | None = None
    trial_id: int | None = None


class ArtifactReader(Protocol):
    """Gives out files."""

    def content(self, artifact: Artifact, vantage: str) -> bytes:
        """The bytes, decompressed; raises Gone saying why there are none, or at which vantage they are."""


class ArtifactStore(Protocol):
    """Rows of artifacts. Each call is a transaction of its own."""

    def get(self, artifact_id: int) -> ArtifactRecord:
        """Raises NotFound."""

    def watched_trials(self, cell_id: int) -> list[WatchedTrial]:
        """Trials of the capture rounds of a cell, by round and client, in the order of the campaign's clients."""

    def trial(self, trial_id: int) -> WatchedTrial:
        """Raises NotFound."""

    def page(self, which: ArtifactFilter, limit: int, cursor: str | None) -> Slice[ArtifactRecord]:
        """In the order they were stored; raises InvalidInput for a cursor that is none."""

    def expire(self, older_than_s: float, reason: str) -> int:
        """Drop the bytes of older ones, with the reason in their place; gives how many."""

    def locations(self) -> set[str]:
        """Every location that some row names."""

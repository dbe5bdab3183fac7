"""Captures: what a trial that is watched leaves, and which trials those are.

Watching perturbs, so what is watched is never counted: such trials run in rounds of their own, numbered -1, -2, ...,
after the counted ones.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass


class CapturePolicy(enum.StrEnum):
    """How many capture rounds each cell has, each arm once in every one, after its counted rounds."""

    NEVER = "never"
    LAST_ROUND = "last-round"
    """One."""
    LAST_THREE_ROUNDS = "last-three-rounds"
    """Three, to see what differs from fetch to fetch."""

    @property
    def rounds(self) -> int:
        """Capture rounds per cell."""
        return {CapturePolicy.NEVER: 0, CapturePolicy.LAST_ROUND: 1, CapturePolicy.LAST_THREE_ROUNDS: 3}[self]


def capture_rounds(policy: CapturePolicy) -> list[int]:
    """Round numbers of the capture rounds, in the order in which they run."""
    return [-number for number in range(1, policy.rounds + 1)]


class ArtifactKind(enum.StrEnum):
    """What kind of file a trial left."""

    PCAP = "pcap"
    """Packets at the client's side of the path, with nanosecond timestamps."""
    KEYLOG = "keylog"
    """TLS secrets of this one connection (draft-ietf-tls-keylogfile), to decrypt the pcap."""
    QLOG = "qlog"
    """The client's own log of its QUIC connection, in whichever version of qlog it writes."""
    HAR = "har"
    """HTTP Archive of a page's load: every resource with its phases."""
    OTHER = "other"
    """Something that another lastbyte stored."""

    @property
    def media_type(self) -> str:
        """Of the file once it is decompressed."""
        return {
            ArtifactKind.PCAP: "application/vnd.tcpdump.pcap",
            ArtifactKind.KEYLOG: "text/plain; charset=utf-8",
            ArtifactKind.QLOG: "application/qlog+json-seq",
            ArtifactKind.HAR: "application/json",
            ArtifactKind.OTHER: "application/octet-stream",
        }[self]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that a trial left, or why there is none."""

    kind: ArtifactKind
    file_name: str
    """For people who download it, without the ending of the compression."""
    location: str = ""
    """Where the bytes are, below the folder of artifacts; empty when they were dropped."""
    encoding: str = ""
    """``gzip``, or empty for a file that is kept as it is."""
    byte_size: int = 0
    """Bytes as kept."""
    raw_bytes: int = 0
    """Bytes once decompressed."""
    sha256: str = ""
    """Of the bytes as kept."""
    dropped_reason: str = ""
    """Why the bytes are not kept; empty when they are."""


def dropped(kind: ArtifactKind, file_name: str, reason: str, raw_bytes: int = 0) -> Artifact:
    """A file that should be there and is not."""
    return Artifact(kind, file_name, raw_bytes=raw_bytes, dropped_reason=reason)


def kept(artifacts: Sequence[Artifact], kind: ArtifactKind) -> Artifact | None:
    """The first of this kind whose bytes are there."""
    return next((item for item in artifacts if item.kind is kind and not item.dropped_reason), None)

"""What a client acknowledged, and when: the raw material of "why", read from a capture or a qlog."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from lastbyte.domain.errors import LastbyteError


class TraceProblem(enum.StrEnum):
    """Closed vocabulary of why a trace can't be read."""

    NOT_CAPTURED = "not-captured"
    """The trial was not watched, or its files were dropped or removed."""
    NOT_A_PCAP = "not-a-pcap"
    TRUNCATED_PCAP = "truncated-pcap"
    """The file ends within a packet."""
    CUT_PACKETS = "cut-packets"
    """Packets were captured in part only (a small snapshot length), so nothing can be decrypted."""
    NO_CONNECTION = "no-connection"
    """The start of a TCP or QUIC connection is not in it."""
    NO_KEY_LOG = "no-key-log"
    """A QUIC capture without the secrets to decrypt it."""
    WRONG_KEY_LOG = "wrong-key-log"
    """The secrets are of another connection."""
    NOT_A_QLOG = "not-a-qlog"
    QLOG_VERSION = "qlog-version"
    """A qlog of a version that is not known here."""
    NO_ACKS = "no-acks"
    """The client acknowledged nothing: the connection broke off before."""


class TraceUnreadable(LastbyteError):
    """A trace that can't be read, and why."""

    def __init__(self, kind: TraceProblem, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


@dataclass(frozen=True, slots=True)
class AckPoint:
    """One acknowledgement that the client sent."""

    at_ms: float
    """From the first packet of the connection."""
    acked_bytes: int
    """All that the client has acknowledged up to here: of TCP, payload in sequence or by SACK (RFC 2018); of QUIC,
    bytes of streams in acknowledged packets (RFC 9000, 13.2)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Data that came in one packet and was sent before: a gap that it filled late, or bytes that were there already."""

    at_ms: float
    byte_count: int


@dataclass(frozen=True, slots=True)
class AckTrace:
    """One fetch as its client acknowledged it."""

    transport: str
    """``tcp`` or ``quic``."""
    source: str
    """``pcap``, ``pcap and key log``, or ``qlog`` with its version."""
    points: tuple[AckPoint, ...]
    rtt_ms: float | None
    """First packet to first answer: SYN to SYN-ACK, or the client's first Initial to the server's; None: not seen."""
    received_bytes: int
    """Distinct bytes that reached the client; those of the last packets are often never acknowledged in QUIC."""
    duplicate_bytes: int
    """Bytes that reached the client more than once."""
    retransmitted: tuple[Piece, ...]
    """Data that filled a gap three packets late or more (RFC 9002, 6.1.1), or had come before: lost and sent again,
    as far as it can be told where the client is. Less than three packets late counts as reordering."""
    wire_bytes: int | None = None
    """Bytes of all frames towards the client, headers of Ethernet to QUIC included; None without a capture."""
    note: str = ""
    """What to know of the source; empty mostly."""

    @property
    def acked_bytes(self) -> int:
        """All that was acknowledged at the end."""
        return self.points[-1].acked_bytes if self.points else 0

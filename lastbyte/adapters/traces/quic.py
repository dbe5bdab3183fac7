"""From what a client received and acknowledged over QUIC to bytes over time, whether by qlog or decrypted packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aioquic.quic.rangeset import RangeSet

from lastbyte.adapters.traces.received import Received, covered
from lastbyte.domain.acks import AckPoint, AckTrace, TraceProblem, TraceUnreadable


@dataclass(frozen=True, slots=True)
class QuicEvent:
    """One packet of the application's packet number space (RFC 9000, 12.3), in the order in which the client saw it."""

    at_ms: float
    """From the client's first packet."""
    packet_number: int
    received: bool
    """False: the client sent it."""
    streams: tuple[tuple[int, int, int], ...] = ()
    """Stream id, offset and length of each STREAM frame."""
    acked: tuple[tuple[int, int], ...] = ()
    """First and last packet number of each acknowledged range; empty when it acknowledges nothing."""


@dataclass(slots=True)
class _Reading:
    received: dict[int, Received] = field(default_factory=dict)
    acked: dict[int, RangeSet] = field(default_factory=dict)
    waiting: dict[int, tuple[tuple[int, int, int], ...]] = field(default_factory=dict)
    total: int = 0
    points: list[AckPoint] = field(default_factory=list)

    def came(self, event: QuicEvent) -> None:
        for stream, offset, length in event.streams:
            self.received.setdefault(stream, Received()).add(event.at_ms, offset, offset + length)
        if event.streams:
            self.waiting[event.packet_number] = event.streams

    def sent(self, event: QuicEvent) -> None:
        done = [n for n in self.waiting if any(first <= n <= last for first, last in event.acked)]
        for number in done:
            for stream, offset, length in self.waiting.pop(number):
                if length:
                    ranges = self.acked.setdefault(stream, RangeSet())
                    before = covered(ranges)
                    ranges.add(offset, offset + length)
                    self.total += covered(ranges) - before
        self.points.append(AckPoint(event.at_ms, self.total))


def quic_trace(events: Sequence[QuicEvent], source: str, rtt_ms: float | None, note: str = "") -> AckTrace:
    """Bytes of streams in acknowledged packets over time; raises TraceUnreadable when nothing was acknowledged."""
    reading = _Reading()
    for event in events:
        if event.received:
            reading.came(event)
        elif event.acked:
            reading.sent(event)
    if not reading.points:
        raise TraceUnreadable(TraceProblem.NO_ACKS, "The client acknowledged nothing of the application's data.")
    pieces = sorted((p for r in reading.received.values() for p in r.retransmitted), key=lambda piece: piece.at_ms)
    return AckTrace(
        transport="quic",
        source=source,
        points=tuple(reading.points),
        rtt_ms=rtt_ms,
        received_bytes=sum(covered(r.ranges) for r in reading.received.values()),
        duplicate_bytes=sum(r.duplicate_bytes for r in reading.received.values()),
        retransmitted=tuple(pieces),
        note=note,
    )

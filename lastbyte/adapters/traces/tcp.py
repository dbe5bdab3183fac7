"""Acknowledgements of a TCP connection, from packets at the client (RFC 9293, RFC 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import dpkt
from aioquic.quic.rangeset import RangeSet

from lastbyte.adapters.traces.packets import Packet
from lastbyte.adapters.traces.received import Received, covered
from lastbyte.domain.acks import AckPoint, AckTrace, TraceProblem, TraceUnreadable

_SEQUENCE = 1 << 32
_FIN, _SYN, _ACK = dpkt.tcp.TH_FIN, dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK


def first_syn(packets: Sequence[Packet]) -> Packet | None:
    """The packet that begins a TCP connection."""
    return next((p for p in packets if p.is_tcp and p.transport.flags & (_SYN | _ACK) == _SYN), None)


def tcp_trace(packets: Sequence[Packet]) -> AckTrace:
    """The first connection that is begun; raises TraceUnreadable when none is."""
    first = first_syn(packets)
    if first is None:
        raise TraceUnreadable(TraceProblem.NO_CONNECTION, "No TCP connection begins in the capture.")
    reading = _Reading(first)
    for packet in packets:
        if packet.is_tcp and {packet.source, packet.target} == {first.source, first.target}:
            reading.add(packet)
    if not reading.points or reading.origin is None:
        raise TraceUnreadable(TraceProblem.NO_ACKS, "The client acknowledged nothing.")
    received = reading.received
    return AckTrace(
        transport="tcp",
        source="pcap",
        points=tuple(reading.points),
        rtt_ms=reading.rtt_ms,
        received_bytes=covered(received.ranges),
        duplicate_bytes=received.duplicate_bytes,
        retransmitted=tuple(received.retransmitted),
    )


class _Reading:
    """One connection, packet by packet; positions count from the first byte of the server."""

    def __init__(self, first: Packet) -> None:
        self._first = first
        self._acked = RangeSet()
        self._end: int | None = None
        self._highest = 0
        self.origin: int | None = None
        self.points: list[AckPoint] = []
        self.received = Received()
        self.rtt_ms: float | None = None

    def add(self, packet: Packet) -> None:
        at_ms = (packet.at_s - self._first.at_s) * 1000
        if packet.source == self._first.source:
            if self.origin is not None and packet.transport.flags & _ACK:
                self._acknowledged(at_ms, packet.transport)
            return
        flags = packet.transport.flags
        if flags & _SYN:
            if self.origin is None:
                self.origin = (packet.transport.seq + 1) % _SEQUENCE
                self.rtt_ms = at_ms
            return
        if self.origin is None:
            return
        start = self._position(packet.transport.seq)
        stop = start + packet.payload_bytes
        self._highest = max(self._highest, stop)
        if flags & _FIN:
            self._end = stop
        self.received.add(at_ms, start, stop)

    def _acknowledged(self, at_ms: float, segment: dpkt.tcp.TCP) -> None:
        upto = self._position(segment.ack)
        if self._end is not None:
            upto = min(upto, self._end)  # the FIN has a number too
        blocks = [(0, upto), *self._selected(segment)]
        for start, stop in blocks:
            if stop > start:
                self._acked.add(start, stop)
        self.points.append(AckPoint(at_ms, covered(self._acked)))

    def _selected(self, segment: dpkt.tcp.TCP) -> list[tuple[int, int]]:
        """SACK blocks; a duplicate one (RFC 2883) lies in what is acknowledged already and changes nothing."""
        options = dict(dpkt.tcp.parse_opts(segment.opts))
        data = options.get(dpkt.tcp.TCP_OPT_SACK, b"")
        numbers = [self._position(int.from_bytes(data[i : i + 4])) for i in range(0, len(data) - 3, 4)]
        return list(zip(numbers[::2], numbers[1::2], strict=False))

    def _position(self, number: int) -> int:
        """The position that a sequence number means, near the highest seen: numbers wrap at 2^32."""
        assert self.origin is not None  # noqa: S101 - set before anything is read
        offset = (number - self.origin) % _SEQUENCE
        turns = round((self._highest - offset) / _SEQUENCE)
        return max(0, offset + turns * _SEQUENCE)

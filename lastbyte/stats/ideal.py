"""The least time that a transfer can take on a link without loss: what no client and no server can beat.

Round trips of the handshakes, slow start from the initial window, and every packet's time on the link with its headers.
Whatever costs time besides is left out (computing, response headers, acknowledgements that come late or take room,
pacing, tickets), so a measurement below this is wrong.

Sources: handshakes RFC 9293, 3.5, RFC 8446, 2 and RFC 9001, 4; initial windows RFC 6928 and RFC 9002, 7.2; slow start
RFC 5681, 3.1 and RFC 9002, 7.3.1 (every acknowledged byte lets one more out); padding of first packets RFC 9000, 14.1;
records RFC 8446, 5; frames RFC 9113, 4.1 and 6.1, RFC 9114, 7.2.1 and RFC 9000, 19.8.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass

ETHERNET_BYTES = 14
"""What netem counts of a frame: addresses and type, without preamble and checksum."""
IPV4_BYTES, UDP_BYTES = 20, 8
TCP_BYTES = 32
"""With the timestamps option (RFC 7323)."""
SYN_BYTES = ETHERNET_BYTES + IPV4_BYTES + 40
MTU_BYTES = 1500
TLS_RECORD_BYTES = 5 + 1 + 16
"""Header, content type and tag of a TLS 1.3 record."""
LARGEST_RECORD = 16_384
H2_FRAME_BYTES = 9
QUIC_PACKET_BYTES = 1 + 1 + 16
"""Short header with an empty connection id and a packet number of one byte, and the tag."""
STREAM_FRAME_BYTES = 1 + 1 + 2
"""Type, stream and a short offset; its length left out."""
SMALLEST_INITIAL = 1200
"""UDP payload that a datagram with an Initial packet has at least."""


@dataclass(frozen=True, slots=True)
class IdealLink:
    """Without loss, with room for everything."""

    rtt_s: float
    rate_bit_s: float
    """Both ways; counts Ethernet's header and what is in it."""

    def seconds_of(self, frame_bytes: float) -> float:
        """Time of a frame on the link."""
        return frame_bytes * 8 / self.rate_bit_s


@dataclass(frozen=True, slots=True)
class Sender:
    """What of a server's stack bounds the time."""

    window_packets: int
    """Initial congestion window."""
    packet_bytes: int = MTU_BYTES - IPV4_BYTES - UDP_BYTES
    """UDP payload of its largest packets; of no meaning over TCP."""
    flight_bytes: int = 0
    """Least that its handshake brings down: its certificates."""


GROWN_BY_HANDSHAKE = 4
"""Packets by which acknowledgements of handshake and settings may have widened the window before the first data, in
addition to those of the certificates."""


def h2_floor_s(link: IdealLink, sender: Sender, body_bytes: int) -> float:
    """Least TTLB in seconds over TCP and TLS 1.3: two round trips, then the request's."""
    segment = MTU_BYTES - IPV4_BYTES - TCP_BYTES
    overhead = ETHERNET_BYTES + IPV4_BYTES + TCP_BYTES
    request_at = 2 * link.rtt_s + 2 * link.seconds_of(SYN_BYTES)
    request_at += link.seconds_of(overhead) + _flight_s(link, sender.flight_bytes, segment, overhead)
    frames = math.ceil(body_bytes / LARGEST_RECORD)
    with_framing = body_bytes + frames * H2_FRAME_BYTES
    bytes_down = with_framing + math.ceil(with_framing / LARGEST_RECORD) * TLS_RECORD_BYTES
    window = sender.window_packets + math.ceil(sender.flight_bytes / segment) + GROWN_BY_HANDSHAKE
    begins = request_at + link.seconds_of(overhead) + link.rtt_s / 2
    return begins + _transfer_s(link, bytes_down, segment, overhead, window * segment)


def h3_floor_s(link: IdealLink, sender: Sender, body_bytes: int) -> float:
    """Least TTLB in seconds over QUIC: one round trip, then the request's."""
    below = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
    overhead = below + QUIC_PACKET_BYTES + STREAM_FRAME_BYTES
    room = sender.packet_bytes - QUIC_PACKET_BYTES - STREAM_FRAME_BYTES
    initial = link.seconds_of(below + SMALLEST_INITIAL)
    flight = max(initial, _flight_s(link, sender.flight_bytes, sender.packet_bytes, below))
    begins = link.rtt_s + initial + flight + link.seconds_of(overhead) + link.rtt_s / 2
    window = sender.window_packets + math.ceil(sender.flight_bytes / sender.packet_bytes) + GROWN_BY_HANDSHAKE
    return begins + _transfer_s(link, body_bytes, room, overhead, window * room)


def _flight_s(link: IdealLink, payload: int, room: int, overhead: int) -> float:
    return link.seconds_of(payload + math.ceil(payload / room) * overhead)


def _transfer_s(link: IdealLink, payload: int, room: int, overhead: int, window_bytes: int) -> float:
    """From the server's first byte to the client's last, in slow start all the way.

    Packets leave while the window has room, queue up before the link, and are acknowledged one by one and at once.
    """
    acknowledged: list[tuple[float, int]] = []
    now, free_at, in_flight, last = 0.0, 0.0, 0, 0.0
    for size in _packets(payload, room):
        while in_flight + size > window_bytes:
            now, got = heapq.heappop(acknowledged)
            in_flight -= got
            window_bytes += got
        free_at = max(free_at, now) + link.seconds_of(size + overhead)
        last = free_at + link.rtt_s / 2
        heapq.heappush(acknowledged, (last + link.rtt_s / 2, size))
        in_flight += size
    return last


def _packets(payload: int, room: int) -> Iterator[int]:
    full, rest = divmod(payload, room)
    yield from (room for _ in range(full))
    if rest:
        yield rest

"""When a transfer began and when its last byte came, from packets at the client's interface. Pure.

Began: the first packet that the client sent. Came: over TCP, the segment that made the bytes whole which the client had
acknowledged when it said goodbye (its FIN, or its last bytes); over QUIC, the datagram that made the stream of the
request whole, read with the connection's key log. What a server sends besides or afterwards (acknowledgements, probes
of the path's MTU, retransmissions that were not needed) is no byte of the body.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.quic import ServerStream, server_secret

_IPV4, _TCP, _UDP = 0x0800, 6, 17


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet of TCP or UDP over IPv4 at the client's interface."""

    at_s: float
    outgoing: bool
    tcp: bool
    port: int
    """The client's."""
    opens: bool
    """True for what begins a connection: a SYN, or QUIC's Initial packet."""
    sequence: int
    """Of TCP."""
    payload: bytes
    """Of TCP or UDP."""


def parse(frame: bytes, at_s: float, *, outgoing: bool) -> Packet | None:
    """A frame with IPv4 and TCP or UDP; None for any other."""
    if len(frame) < 42 or struct.unpack_from("!H", frame, 12)[0] != _IPV4 or frame[23] not in (_TCP, _UDP):
        return None
    start = 14 + (frame[14] & 15) * 4
    end = 14 + struct.unpack_from("!H", frame, 16)[0]
    source, destination = struct.unpack_from("!HH", frame, start)
    tcp = frame[23] == _TCP
    header = (frame[start + 12] >> 4) * 4 if tcp else 8
    payload = frame[start + header : end]
    return Packet(
        at_s=at_s,
        outgoing=outgoing,
        tcp=tcp,
        port=source if outgoing else destination,
        opens=frame[start + 13] & 0x12 == 0x02 if tcp else payload[:1] >= b"\xc0" and payload[0] & 0x30 == 0,
        sequence=struct.unpack_from("!I", frame, start + 4)[0] if tcp else 0,
        payload=payload,
    )


def ttlb_s(packets: Sequence[Packet], key_log: str) -> float:
    """Seconds from the first packet out to the one that brought the last byte; raises ValueError."""
    first = next((p for p in packets if p.outgoing and p.opens), None)
    if first is None:
        raise ValueError("the client opened no connection")
    ours = [p for p in packets if p.port == first.port and p.tcp == first.tcp and p.at_s >= first.at_s]
    last = _tcp_whole(ours) if first.tcp else _quic_whole(ours, key_log)
    return last - first.at_s


def _tcp_whole(packets: Sequence[Packet]) -> float:
    goodbye = max(p.at_s for p in packets if p.outgoing and p.payload)
    coming = [p for p in packets if not p.outgoing and p.at_s <= goodbye]
    base = coming[0].sequence + 1  # its SYN takes one
    return whole_at((p.at_s, (p.sequence - base) % 2**32, p.payload) for p in coming[1:] if p.payload)


def _quic_whole(packets: Sequence[Packet], key_log: str) -> float:
    hello = next(p.payload for p in packets if p.outgoing and p.opens)
    # Initial packet: flags, version, length and id of the other side, then of this one (RFC 9000, 17.2)
    our_id_bytes = hello[6 + hello[5]]
    stream = ServerStream(server_secret(key_log), our_id_bytes)
    pieces: list[tuple[float, int, bytes]] = []
    for packet in packets:
        if not packet.outgoing:
            pieces += [
                (packet.at_s, start, b"\0" * (end - start)) for start, end in stream.stream_parts(packet.payload)
            ]
    return whole_at(pieces)


def whole_at(pieces: Iterable[tuple[float, int, bytes]]) -> float:
    """When bytes from 0 on, as (time, offset, data), were last extended without a gap; raises ValueError for none."""
    reached, at, waiting = 0, None, []
    for moment, offset, data in pieces:
        waiting.append((offset, offset + len(data)))
        before = reached
        for start, end in sorted(waiting):
            if start <= reached:
                reached = max(reached, end)
        waiting = [(start, end) for start, end in waiting if end > reached]
        if reached > before:
            at = moment
    if at is None or waiting:
        raise ValueError("the transfer was not whole")
    return at

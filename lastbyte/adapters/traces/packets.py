"""Packets of a pcap or pcapng file, parsed as far as TCP and UDP, by dpkt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import dpkt

from lastbyte.domain.acks import TraceProblem, TraceUnreadable

_LINKS = {
    dpkt.pcap.DLT_EN10MB: dpkt.ethernet.Ethernet,
    dpkt.pcap.DLT_LINUX_SLL: dpkt.sll.SLL,
    dpkt.pcap.DLT_LINUX_SLL2: dpkt.sll2.SLL2,
}
_RAW = (dpkt.pcap.DLT_RAW, 101)


@dataclass(frozen=True, slots=True)
class Packet:
    """A TCP segment or UDP datagram."""

    at_s: float
    source: tuple[bytes, int]
    target: tuple[bytes, int]
    transport: Any
    """dpkt's TCP or UDP."""
    is_tcp: bool
    payload: bytes
    payload_bytes: int
    """As the header of IP says; ``payload`` has less when the capture cut it off."""
    wire_bytes: int
    """Of the frame, without preamble and checksum."""

    @property
    def is_cut(self) -> bool:
        """True when not all of it was captured."""
        return len(self.payload) < self.payload_bytes


class _Whole(BytesIO):
    """A file that says so when less is left than is asked for."""

    def read(self, size: int | None = -1) -> bytes:
        """As of every file; raises TraceUnreadable."""
        data = super().read(size)
        if size is not None and 0 < len(data) < size:
            raise _truncated()
        return data


def packets(data: bytes) -> list[Packet]:
    """The TCP and UDP packets of a capture file; raises TraceUnreadable."""
    try:
        reader = dpkt.pcap.UniversalReader(_Whole(data))
    except (ValueError, dpkt.Error) as exc:
        raise TraceUnreadable(TraceProblem.NOT_A_PCAP, "The file is neither pcap nor pcapng.") from exc
    return [packet for packet in _parsed(reader) if packet is not None]


def _parsed(reader: Any) -> Iterator[Packet | None]:
    link = reader.datalink()
    if link not in _LINKS and link not in _RAW:
        raise TraceUnreadable(TraceProblem.NOT_A_PCAP, f"The capture is of link type {link}, which is not known here.")
    try:
        for at_s, frame in reader:
            if not frame:
                raise _truncated()
            try:
                packet = _packet(float(at_s), frame, link)
            except (dpkt.Error, IndexError, AttributeError):
                continue  # no packet of ours
            yield packet
    except (dpkt.NeedData, ValueError) as exc:
        raise _truncated() from exc


def _truncated() -> TraceUnreadable:
    return TraceUnreadable(TraceProblem.TRUNCATED_PCAP, "The capture ends within a packet: it was cut short.")


def _packet(at_s: float, frame: bytes, link: int) -> Packet | None:
    if link in _RAW:
        ip = dpkt.ip6.IP6(frame) if frame[0] >> 4 == 6 else dpkt.ip.IP(frame)
    else:
        ip = _LINKS[link](frame).data
    if isinstance(ip, dpkt.ip.IP):
        header_bytes, total_bytes = ip.hl * 4, ip.len
    elif isinstance(ip, dpkt.ip6.IP6):
        header_bytes, total_bytes = 40, ip.plen + 40
    else:
        return None
    transport = ip.data
    if isinstance(transport, dpkt.tcp.TCP):
        payload_bytes = total_bytes - header_bytes - transport.off * 4
    elif isinstance(transport, dpkt.udp.UDP):
        payload_bytes = transport.ulen - 8
    else:
        return None
    return Packet(
        at_s,
        (ip.src, transport.sport),
        (ip.dst, transport.dport),
        transport,
        isinstance(transport, dpkt.tcp.TCP),
        bytes(transport.data)[:payload_bytes],
        payload_bytes,
        max(len(frame), total_bytes + (14 if link == dpkt.pcap.DLT_EN10MB else 0)),
    )

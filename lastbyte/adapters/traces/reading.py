"""The acknowledgements of one fetch from whatever files it left."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import replace

from lastbyte.adapters.traces.packets import Packet, packets
from lastbyte.adapters.traces.qlog import qlog_trace
from lastbyte.adapters.traces.quic_packets import first_initial, quic_packet_trace
from lastbyte.adapters.traces.tcp import first_syn, tcp_trace
from lastbyte.domain.acks import AckTrace, TraceProblem, TraceUnreadable
from lastbyte.ports import TraceFiles


def read_trace(files: TraceFiles) -> AckTrace:
    """TCP from the packets; QUIC from the client's qlog, else from packets and key log. Raises TraceUnreadable.

    A qlog that can't be read is no obstacle while packets and key log are there; the trace's note says why.
    """
    trace: AckTrace | None = None
    trouble: TraceUnreadable | None = None
    if files.qlog is not None:
        try:
            trace = qlog_trace(files.qlog)
        except TraceUnreadable as exc:
            trouble = exc
    if files.pcap is None:
        if trace is None:
            raise trouble or TraceUnreadable(TraceProblem.NOT_CAPTURED, "There is neither a capture nor a qlog.")
        return trace
    try:
        found = packets(files.pcap)
        if trace is None:
            trace = _from_packets(found, files.key_log)
    except TraceUnreadable as exc:
        if trace is None:
            raise
        return replace(trace, note=f"{trace.note} The capture can't be read: {exc.detail}".strip())
    if trouble is not None:
        trace = replace(trace, note=f"{trace.note} The qlog can't be read: {trouble.detail}".strip())
    return replace(trace, wire_bytes=_wire_bytes(found))


def _begun(found: Sequence[Packet]) -> Packet | None:
    """The packet that begins the first connection; those before it are left over from an earlier fetch."""
    firsts = [packet for packet in (first_syn(found), first_initial(found)) if packet is not None]
    return min(firsts, key=lambda packet: packet.at_s, default=None)


def _from_packets(found: Sequence[Packet], key_log: bytes | None) -> AckTrace:
    first = _begun(found)
    is_tcp = any(packet.is_tcp for packet in found) if first is None else first.is_tcp
    return tcp_trace(found) if is_tcp else quic_packet_trace(found, key_log)


def _wire_bytes(found: Sequence[Packet]) -> int | None:
    """Bytes of the frames of the first connection to the one that began it; None without any."""
    first = _begun(found)
    if first is None:
        return None
    return sum(packet.wire_bytes for packet in found if (packet.source, packet.target) == (first.target, first.source))


def decompressed(data: bytes) -> bytes:
    """The bytes of a file that may be gzip's; raises TraceUnreadable."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as exc:
        raise TraceUnreadable(TraceProblem.NOT_A_PCAP, "The file is gzip's, but broken.") from exc


def sorted_out(contents: list[tuple[str, bytes]]) -> TraceFiles:
    """Files of one fetch by what they hold, whatever they are called; raises TraceUnreadable for one that is none."""
    found = TraceFiles()
    for name, raw in contents:
        data = decompressed(raw)
        if data[:4] in _PCAP_MAGIC:
            found = replace(found, pcap=data)
        elif data.lstrip(b"\x1e")[:1] == b"{":
            found = replace(found, qlog=data)
        elif b"TRAFFIC_SECRET" in data or b"CLIENT_RANDOM" in data:
            found = replace(found, key_log=data)
        else:
            detail = f"{name} is no pcap, no TLS key log and no qlog."
            raise TraceUnreadable(TraceProblem.NOT_A_PCAP, detail)
    return found


_PCAP_MAGIC = {
    bytes.fromhex(magic) for magic in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")
}  # pcap in both byte orders and resolutions, pcapng

"""Packets at the client's side of the path, with the kernel's timestamps, into a pcap file.

A packet socket inside the client's namespace (packet(7)) with SO_TIMESTAMPNS (socket(7)), read by a thread of this
process and kept in memory until the fetch is over: no program to install or to wait for, and nothing is written to a
disk meanwhile. docs/captures.md says what it perturbs.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from netem.box import INTERFACE
from netem.namespaces import Namespace

_ETH_P_ALL = 3  # linux/if_ether.h
_SOL_PACKET, _PACKET_STATISTICS = 263, 6  # linux/socket.h, linux/if_packet.h
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h
_SO_RCVBUFFORCE = 33
_BUFFER_BYTES = 32 << 20
_LONGEST_FRAME = 2048
_WAIT_S = 0.05
_SETTLE_S = 0.02
"""After the fetch, so that its last packets are seen."""

PCAP_NANOSECONDS = 0xA1B23C4D
"""Magic number of a pcap file whose timestamps are in nanoseconds (draft-ietf-opsawg-pcap)."""
_LINKTYPE_ETHERNET = 1


@dataclass(frozen=True, slots=True)
class Frame:
    """One Ethernet frame at the client's interface."""

    at_ns: int
    """Nanoseconds since the epoch."""
    outgoing: bool
    data: bytes
    length: int
    """Bytes on the link; ``data`` may be cut off."""


class PacketTap:
    """Sees every packet of the client's namespace between enter and exit."""

    def __init__(self, client: Namespace, limit_bytes: int | None = None) -> None:
        """``limit_bytes``: how much is kept at most; what comes after that is counted in ``cut_off``."""
        self._socket = client.call(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL)))
        self._socket.bind((INTERFACE, 0))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        self._socket.settimeout(_WAIT_S)
        self._limit_bytes = limit_bytes
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, name="packet-tap", daemon=True)
        self.frames: list[Frame] = []
        self.cut_off = 0
        """Frames that came after the limit."""
        self.lost = 0
        """Frames that the kernel dropped because they were not read fast enough."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(_SETTLE_S)
        self._over.set()
        self._thread.join()
        statistics = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        self.lost = int(struct.unpack("II", statistics)[1])
        self._socket.close()

    def write_pcap(self, file: Path) -> None:
        """Everything that was kept, in order of time; raises OSError."""
        header = struct.pack("<IHHiIII", PCAP_NANOSECONDS, 2, 4, 0, 0, _LONGEST_FRAME, _LINKTYPE_ETHERNET)
        with file.open("wb") as stream:
            stream.write(header)
            for frame in sorted(self.frames, key=lambda frame: frame.at_ns):
                seconds, nanoseconds = divmod(frame.at_ns, 10**9)
                stream.write(struct.pack("<IIII", seconds, nanoseconds, len(frame.data), frame.length))
                stream.write(frame.data)

    def _read(self) -> None:
        kept = 0
        while not self._over.is_set():
            try:
                data, ancillary, flags, address = self._socket.recvmsg(_LONGEST_FRAME, 128)
            except TimeoutError:
                continue
            if self._limit_bytes is not None and kept >= self._limit_bytes:
                self.cut_off += 1
                continue
            kept += len(data)
            length = len(data) + (1 if flags & socket.MSG_TRUNC else 0)  # how much longer, the kernel doesn't say
            self.frames.append(Frame(_timestamp_ns(ancillary), address[2] == socket.PACKET_OUTGOING, data, length))


def _timestamp_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return int(seconds) * 10**9 + int(nanoseconds)
    raise OSError("the kernel gave no timestamp")

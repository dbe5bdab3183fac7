"""Is the recorded TTLB true? Compared, trial by trial, with one taken from packets at the client's side of the link.

From the first packet that the client sends to the last packet with payload that reaches it before it says goodbye (its
last packet with payload over TCP, its last datagram over QUIC). Kernel timestamps (SO_TIMESTAMPNS, socket(7)).
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lastbyte import wiring
from lastbyte.adapters.program_client import ProgramClientRunner
from lastbyte.domain.client import Client, expand_clients
from lastbyte.ports import Target
from netem.box import INTERFACE
from netem.factory import ShapedPathFactory
from netem.path import ShapedPath

TRIALS = 30
PROFILES = ("baseline", "delay-50")
GOAL_MS = 1.0
_ETH_P_ALL = 3
_SO_TIMESTAMPNS = 35
_IPV4, _TCP, _UDP = 0x0800, 6, 17


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet at the client's interface."""

    at_s: float
    outgoing: bool
    payload_bytes: int
    """Of TCP or UDP."""


class Capture:
    """Packets of the client's namespace between enter and exit."""

    def __init__(self, path: ShapedPath) -> None:
        self._socket = path.client.call(
            lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        )
        self._socket.bind((INTERFACE, 0))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self._socket.settimeout(0.05)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.packets: list[Packet] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.02)
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _read(self) -> None:
        while not self._over.is_set():
            try:
                frame, ancillary, _, address = self._socket.recvmsg(2048, 128)
            except TimeoutError:
                continue
            packet = parse(frame, _timestamp(ancillary), outgoing=address[2] == socket.PACKET_OUTGOING)
            if packet is not None:
                self.packets.append(packet)


def parse(frame: bytes, at_s: float, *, outgoing: bool) -> Packet | None:
    """A frame with IPv4 and TCP or UDP; None for any other."""
    if len(frame) < 34 or struct.unpack_from("!H", frame, 12)[0] != _IPV4:
        return None
    header = (frame[14] & 15) * 4
    total = struct.unpack_from("!H", frame, 16)[0]
    start = 14 + header
    if frame[23] == _TCP:
        return Packet(at_s, outgoing, total - header - (frame[start + 12] >> 4) * 4)
    if frame[23] == _UDP:
        return Packet(at_s, outgoing, total - header - 8)
    return None


def ttlb_s(packets: list[Packet]) -> float:
    """Seconds from the first packet out to the last payload in before the last payload out."""
    ordered = sorted(packets, key=lambda packet: packet.at_s)
    start = next(packet.at_s for packet in ordered if packet.outgoing)
    goodbye = max(packet.at_s for packet in ordered if packet.outgoing and packet.payload_bytes > 0)
    return max(p.at_s for p in ordered if not p.outgoing and p.payload_bytes > 0 and p.at_s <= goodbye) - start


def run() -> dict[str, Any]:
    """Differences of recorded and captured TTLB for each client."""
    goals, rows = [], []
    clients = expand_clients(["curl-quiche", "curl-ngtcp2"], wiring.clients())
    endpoint = wiring.endpoint_of("https://testbed-nginx.test/100KB.bin")
    with wiring.testbed_for(endpoint), ShapedPathFactory().open() as path:
        target = wiring.resolver().resolve(endpoint)
        for client in clients:
            errors_ms = []
            for name in PROFILES:
                path.configure(wiring.profiles()[name], endpoint.base_rtt_ms)
                errors_ms += [_error_ms(path, client, target) for _ in range(TRIALS)]
            p50, p99 = np.percentile(np.abs(errors_ms), [50, 99])
            print(
                f"{client.id:>15}: TTLB recorded against captured: off by {p50:.2f} ms in the median, "
                f"{p99:.2f} ms at p99 (n={len(errors_ms)})"
            )
            rows.append({"client": client.id, "n": len(errors_ms), "median_ms": p50, "p99_ms": p99})
            goals.append({"what": f"TTLB against capture {client.id}, p99 ms", "value": float(p99), "at_most": GOAL_MS})
    return {"goals": goals, "rows": rows}


def _error_ms(path: ShapedPath, client: Client, target: Target) -> float:
    runner = ProgramClientRunner()
    with Capture(path) as capture:
        observation = runner.run(client, target, path.command_prefix(), 30)
    assert observation.timings is not None, observation.failure
    return (observation.timings.ttlb_s - ttlb_s(capture.packets)) * 1000


def _timestamp(ancillary: list[tuple[int, int, bytes]]) -> float:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return int(seconds) + int(nanoseconds) / 1e9
    raise OSError("the kernel gave no timestamp")

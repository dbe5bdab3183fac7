"""Echo requests from inside a namespace, without starting ping(8) (RFC 792, RFC 4443)."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from lastbyte.domain.errors import PathLost
from netem.namespaces import Namespace

_PAYLOAD = bytes(48)
"""56 bytes of ICMP in all, as ping(8) sends."""


@dataclass(frozen=True, slots=True)
class Echoes:
    """What came back."""

    samples_ms: tuple[float, ...]
    lost: int


class Pinger:
    """A raw ICMP socket that lives in a namespace and is aimed at one address."""

    def __init__(self, namespace: Namespace, target: IPv4Address | IPv6Address) -> None:
        self._v6 = target.version == 6
        self._ident = int.from_bytes(os.urandom(2), "big")
        self._sequence = 0

        def create() -> socket.socket:
            family = socket.AF_INET6 if self._v6 else socket.AF_INET
            protocol = socket.IPPROTO_ICMPV6 if self._v6 else socket.IPPROTO_ICMP
            return socket.socket(family, socket.SOCK_RAW, protocol)

        self._socket = namespace.call(create)
        self._socket.settimeout(0)
        self._socket.connect((str(target), 0))

    def ping(self, count: int, interval_s: float, timeout_s: float, is_alive: Callable[[], bool]) -> Echoes:
        """Send ``count`` requests, one every ``interval_s``; wait at most ``timeout_s`` after the last.

        Requests do not wait for answers, so a long path takes no longer to sample. Raises PathLost when it is gone.
        """
        sent: dict[int, int] = {}
        samples: dict[int, float] = {}
        start = time.perf_counter()
        deadline = start + max(0, count - 1) * interval_s + timeout_s
        while len(samples) < count:
            now = time.perf_counter()
            if now > deadline:
                break
            due = start + len(sent) * interval_s
            if len(sent) < count and now >= due:
                self._sequence = (self._sequence + 1) % 65536
                sent[self._sequence] = time.perf_counter_ns()
                self._send(self._sequence)
                continue
            until = min(deadline, due) if len(sent) < count else deadline
            ready, _, _ = select.select([self._socket], [], [], max(0.0, min(until - now, 0.1)))
            if ready:
                self._receive(sent, samples)
            elif not is_alive():
                raise PathLost("The box is gone (no echo, its process ended).")
        return Echoes(tuple(samples[number] for number in sent if number in samples), len(sent) - len(samples))

    def close(self) -> None:
        """Close the socket. May be called twice."""
        self._socket.close()

    def _send(self, sequence: int) -> None:
        header = struct.pack("!BBHHH", 128 if self._v6 else 8, 0, 0, self._ident, sequence)
        if not self._v6:  # the kernel fills in ICMPv6 checksums itself
            header = struct.pack("!BBHHH", 8, 0, _checksum(header + _PAYLOAD), self._ident, sequence)
        try:
            self._socket.send(header + _PAYLOAD)
        except BlockingIOError:
            return
        except OSError as exc:
            raise PathLost(f"The path is gone ({exc.strerror}).") from exc

    def _receive(self, sent: dict[int, int], samples: dict[int, float]) -> None:
        try:
            packet = self._socket.recv(2048)
        except BlockingIOError:
            return
        except OSError as exc:
            raise PathLost(f"The path is gone ({exc.strerror}).") from exc
        now = time.perf_counter_ns()
        if not self._v6:
            packet = packet[(packet[0] & 15) * 4 :]
        kind, _, _, ident, sequence = struct.unpack_from("!BBHHH", packet)
        if kind == (129 if self._v6 else 0) and ident == self._ident and sequence in sent and sequence not in samples:
            samples[sequence] = (now - sent[sequence]) / 1e6


def _checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF

"""Test traffic through a path: UDP streams from one namespace to the other, counted where they arrive."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from lastbyte.domain.errors import PathLost
from netem.namespaces import Namespace

_UDP_SEGMENT = 103  # linux/udp.h
_SEGMENTS = 40
"""Datagrams handed over in one call where one call each would be too slow."""
_BUFFER_BYTES = 32 * 2**20
_TICK_S = 0.002


@dataclass(frozen=True, slots=True)
class End:
    """One end of the path."""

    namespace: Namespace
    address: IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What was sent and what arrived."""

    sent: int
    received: int
    first_s: float
    """Clock of the first arrival (time.perf_counter)."""
    last_s: float
    frame_bytes: int
    """Size of each packet at layer 2, as netem counts it: payload, UDP, IP and Ethernet headers."""
    sending_s: float
    """How long the sender took."""

    @property
    def lost(self) -> int:
        """Packets that did not arrive."""
        return self.sent - self.received

    @property
    def rate_mbit_s(self) -> float:
        """Layer 2 rate between first and last arrival, in Mbit/s."""
        elapsed = self.last_s - self.first_s
        return (self.received - 1) * self.frame_bytes * 8 / elapsed / 1e6 if elapsed > 0 else 0.0

    @property
    def offered_mbit_s(self) -> float:
        """Layer 2 rate at which they were sent, in Mbit/s."""
        return self.sent * self.frame_bytes * 8 / self.sending_s / 1e6 if self.sending_s > 0 else 0.0


def stream(
    source: End,
    sink: End,
    *,
    payload_bytes: int,
    packets_s: float | None,
    count: int | None = None,
    duration_s: float = 0.0,
    quiet_s: float,
    is_alive: Callable[[], bool],
) -> Arrivals:
    """Send from ``source`` to ``sink`` and count.

    ``packets_s``: pace, None as fast as possible. Ends after ``count`` packets or ``duration_s`` seconds; then waits
    until nothing came for ``quiet_s``. Raises PathLost.
    """
    family = socket.AF_INET if sink.address.version == 4 else socket.AF_INET6
    receiver = sink.namespace.call(lambda: socket.socket(family, socket.SOCK_DGRAM))
    sender = source.namespace.call(lambda: socket.socket(family, socket.SOCK_DGRAM))
    with receiver, sender:
        _enlarge(receiver)
        receiver.bind((str(sink.address), 0))
        receiver.settimeout(0)
        sender.connect((str(sink.address), receiver.getsockname()[1]))
        outcome = _Sending()
        thread = threading.Thread(
            target=_send, args=(sender, payload_bytes, packets_s, count, duration_s, outcome), daemon=True
        )
        thread.start()
        received, first, last = _receive(receiver, payload_bytes, outcome, quiet_s, is_alive)
        outcome.stop = True
        thread.join()
    if outcome.error is not None:
        raise PathLost(f"The path is gone ({outcome.error}).")
    overhead = 14 + (20 if family == socket.AF_INET else 40) + 8
    return Arrivals(outcome.sent, received, first, last, payload_bytes + overhead, outcome.seconds)


@dataclass(slots=True)
class _Sending:
    sent: int = 0
    seconds: float = 0.0
    done: bool = False
    stop: bool = False
    error: str | None = None


def _send(
    sender: socket.socket,
    payload_bytes: int,
    packets_s: float | None,
    count: int | None,
    duration_s: float,
    outcome: _Sending,
) -> None:
    burst = 1
    if packets_s is None or packets_s > 5000:
        with contextlib.suppress(OSError):  # without it: one call per datagram
            sender.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, payload_bytes)
            burst = min(_SEGMENTS, 60_000 // payload_bytes)
    start = time.perf_counter()
    try:
        while not outcome.stop:
            elapsed = time.perf_counter() - start
            if (count is not None and outcome.sent >= count) or (count is None and elapsed >= duration_s):
                break
            size = burst if count is None else min(burst, count - outcome.sent)
            if packets_s is not None and outcome.sent + size > elapsed * packets_s + size:
                time.sleep(_TICK_S)
                continue
            sender.send(bytes(payload_bytes * size))
            outcome.sent += size
    except OSError as exc:
        outcome.error = exc.strerror or str(exc)
    outcome.seconds = time.perf_counter() - start
    outcome.done = True


def _receive(
    receiver: socket.socket, payload_bytes: int, outcome: _Sending, quiet_s: float, is_alive: Callable[[], bool]
) -> tuple[int, float, float]:
    buffer = bytearray(payload_bytes)
    received, first, last = 0, 0.0, 0.0
    quiet_since = time.perf_counter()
    while True:
        try:
            while True:
                receiver.recv_into(buffer)
                last = time.perf_counter()
                first = first or last
                received += 1
        except BlockingIOError:
            pass
        now = time.perf_counter()
        if not outcome.done or last > quiet_since:
            quiet_since = max(last, quiet_since if outcome.done else now)
        if outcome.done and (received >= outcome.sent or now - quiet_since > quiet_s):
            return received, first, last
        if not select.select([receiver], [], [], 0.05)[0] and not is_alive():
            outcome.stop = True
            raise PathLost("The box is gone (its process ended).")


def _enlarge(receiver: socket.socket) -> None:
    """A receive buffer large enough that only the path loses packets, above rmem_max where allowed."""
    so_rcvbufforce = 33  # asm-generic/socket.h
    try:
        receiver.setsockopt(socket.SOL_SOCKET, so_rcvbufforce, _BUFFER_BYTES)
    except OSError:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)

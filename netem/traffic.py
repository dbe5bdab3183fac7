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
from lastbyte.domain.impairment import Impairment
from netem.namespaces import Namespace

_UDP_SEGMENT = 103  # linux/udp.h
_SEGMENTS = 40
"""Datagrams handed over in one call where one call each would be too slow."""
_BUFFER_BYTES = 32 * 2**20
_TICK_S = 0.002


MAX_PACKETS_S = 4000.0


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
    burst_packets: int,
    count: int | None = None,
    duration_s: float = 0.0,
    quiet_s: float,
    is_alive: Callable[[], bool],
) -> Arrivals:
    """Send from ``source`` to ``sink`` and count.

    ``packets_s``: pace, None as fast as possible. A sender that was held up catches up by ``burst_packets`` at most: a
    larger burst could overflow a queue the pace itself would never fill. Ends after ``count`` packets or ``duration_s``
    seconds; then waits until nothing came for ``quiet_s``. Raises PathLost.
    """
    family = socket.AF_INET if sink.address.version == 4 else socket.AF_INET6
    receiver = sink.namespace.call(lambda: socket.socket(family, socket.SOCK_DGRAM))
    sender = source.namespace.call(lambda: socket.socket(family, socket.SOCK_DGRAM))
    with receiver, sender:
        enlarge_buffer(receiver)
        receiver.bind((str(sink.address), 0))
        receiver.settimeout(0)
        sender.connect((str(sink.address), receiver.getsockname()[1]))
        outcome = _Sending()
        pace = _Pace(packets_s, burst_packets, count, duration_s)
        thread = threading.Thread(target=_send, args=(sender, payload_bytes, pace, outcome), daemon=True)
        thread.start()
        received, first, last = _receive(receiver, payload_bytes, outcome, quiet_s, is_alive)
        outcome.stop = True
        thread.join()
    if outcome.error is not None:
        raise PathLost(f"The path is gone ({outcome.error}).")
    overhead = 14 + (20 if family == socket.AF_INET else 40) + 8
    return Arrivals(outcome.sent, received, first, last, payload_bytes + overhead, outcome.seconds)


def loss_pace(impairment: Impairment, delay_ms: float, payload_bytes: int) -> float:
    """Packets per second that come nowhere near the rate or the room of the queue, so that no packet is dropped there.

    Half the rate; at most a third of the queue in flight, since the delay line is sized for full packets only.
    """
    frame_bits = 8 * (14 + 20 + 8 + payload_bytes)
    pace = MAX_PACKETS_S
    if impairment.rate_mbit_s is not None:
        pace = min(pace, 0.5 * impairment.rate_mbit_s * 1e6 / frame_bits)
    in_flight = max(1.0, impairment.queue_packets / 3)
    if pace * delay_ms / 1e3 > in_flight:
        pace = in_flight / (delay_ms / 1e3)
    return pace


@dataclass(slots=True)
class _Sending:
    sent: int = 0
    seconds: float = 0.0
    done: bool = False
    stop: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Pace:
    packets_s: float | None
    burst_packets: int
    count: int | None
    duration_s: float


def _send(sender: socket.socket, payload_bytes: int, pace: _Pace, outcome: _Sending) -> None:
    segments = 1
    if pace.packets_s is None or pace.packets_s > 5000:
        segments = _segments(sender, payload_bytes)
    payload = bytes(payload_bytes)
    start = last = time.perf_counter()
    allowed = 1.0
    try:
        while not outcome.stop:
            now = time.perf_counter()
            if pace.count is None and now - start >= pace.duration_s:
                break
            size = segments if pace.count is None else min(segments, pace.count - outcome.sent)
            if size == 0:
                break
            if pace.packets_s is not None:
                allowed = min(allowed + (now - last) * pace.packets_s, max(pace.burst_packets, size))
                last = now
                if allowed < size:
                    time.sleep(_TICK_S)
                    continue
                allowed -= size
            sender.send(payload * size)
            outcome.sent += size
    except OSError as exc:
        outcome.error = exc.strerror or str(exc)
    outcome.seconds = time.perf_counter() - start
    outcome.done = True


def _segments(sender: socket.socket, payload_bytes: int) -> int:
    """How many datagrams one call may hand over: UDP segmentation, where kernel and interface allow it.

    Before Linux 6.11 an interface without checksum offload answers EIO, so it is tried.
    """
    segments = min(_SEGMENTS, 60_000 // payload_bytes)
    try:
        sender.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, payload_bytes)
        sender.send(bytes(payload_bytes * segments))
    except OSError:
        with contextlib.suppress(OSError):
            sender.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, 0)
        return 1
    return segments


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
        # Not woken by every packet: sender and receiver share one interpreter, and a few milliseconds at either end
        # of seconds of counting do not matter.
        time.sleep(_TICK_S)


def enlarge_buffer(receiver: socket.socket) -> None:
    """A receive buffer large enough that only the path loses packets, above rmem_max where allowed."""
    so_rcvbufforce = 33  # asm-generic/socket.h
    try:
        receiver.setsockopt(socket.SOL_SOCKET, so_rcvbufforce, _BUFFER_BYTES)
    except OSError:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)

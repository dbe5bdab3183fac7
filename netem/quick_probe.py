"""Rate and loss of a path in a moment, both directions at once: what is asked of it before every cell.

A train of full-sized packets each way, sent back to back, is spread by the link to its rate; the kernel stamps each
packet as it arrives, so it does not matter when this process gets to read it. Small datagrams at half the rate, or
slower where the delay line would fill, count losses.
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lastbyte.domain.errors import PathLost
from lastbyte.domain.link_probe import DirectionProbe, LinkProbe
from lastbyte.domain.profile import ETHERNET_MTU_FRAME_BYTES, Impairment, Profile
from lastbyte.stats.link_probe import loss_unjudged, rate_unjudged
from netem import tc
from netem.traffic import End, enlarge_buffer, loss_pace

TRAIN_S = 0.08
"""How long a train takes to pass, in seconds: long beside the accuracy of a software link, short beside a cell."""
TRAIN_PACKETS = (12, 300)
LOSS_PACKETS = 1000
LOSS_S = 0.25
"""Counting losses takes no longer than this, in seconds; a slow link is asked fewer packets."""
SMALL_PAYLOAD_BYTES = 22
_LARGE_PAYLOAD_BYTES = ETHERNET_MTU_FRAME_BYTES - 14 - 20 - 8
_LATE_S = 0.05
"""How long after a packet is due it may still come."""
_TICK_S = 0.001
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h, SO_TIMESTAMPNS_OLD: a struct timespec of two longs
_NUMBER = struct.Struct("!I")
_TIMESPEC = struct.Struct("@ll")


@dataclass(slots=True)
class _Way:
    """One direction while it is probed."""

    asked: Impairment
    delay_s: float
    sender: socket.socket
    receiver: socket.socket
    train: int
    count: int
    pace: float
    begin_s: float = 0.0
    """When the small datagrams begin, in seconds of the probe."""
    sent: int = 0
    arrivals_s: list[float] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        return len(self.numbers) >= self.count and len(self.arrivals_s) >= self.train


def quick_probe(
    client: End, uplink: End, profile: Profile, base_rtt_ms: float, is_alive: Callable[[], bool]
) -> LinkProbe:
    """Probe the path between two ends, which is shaped by ``profile`` already; raises PathLost."""
    started = time.perf_counter()
    shaped = profile.with_queues(base_rtt_ms)
    try:
        with contextlib.ExitStack() as stack:
            down = _way(stack, uplink, client, shaped.downlink, shaped, base_rtt_ms)
            up = _way(stack, client, uplink, shaped.uplink, shaped, base_rtt_ms)
            _send((down, up))
            _collect((down, up), is_alive)
    except OSError as exc:
        raise PathLost(f"The path is gone ({exc.strerror or exc}).") from exc
    elapsed_s = time.perf_counter() - started
    return LinkProbe(_found(down, shaped), _found(up, shaped), elapsed_s)


def train_packets(asked: Impairment, profile: Profile) -> int:
    """Packets of a train that fits into the queue; 0 where a train tells nothing."""
    if asked.rate_mbit_s is None or rate_unjudged(asked, profile):
        return 0
    fewest, most = TRAIN_PACKETS
    wanted = round(TRAIN_S * asked.rate_mbit_s * 1e6 / (8 * ETHERNET_MTU_FRAME_BYTES))
    return min(max(fewest, min(most, wanted)), max(2, int(0.8 * asked.queue_packets)))


def rate_of(arrivals_s: Sequence[float]) -> float | None:
    """Rate of full-sized packets by their arrivals, in Mbit/s; None for fewer than six.

    The median of the spacings of packets half a train apart, so that a moment's halt does not count.
    """
    half = len(arrivals_s) // 2
    if half < 3:
        return None
    spacing_s = statistics.median(b - a for a, b in zip(arrivals_s, arrivals_s[half:], strict=False)) / half
    return ETHERNET_MTU_FRAME_BYTES * 8 / spacing_s / 1e6 if spacing_s > 0 else None


def _way(
    stack: contextlib.ExitStack, source: End, sink: End, asked: Impairment, profile: Profile, base_rtt_ms: float
) -> _Way:
    delay_ms = tc.longest_delay_ms(asked, base_rtt_ms / 2)
    receiver = stack.enter_context(sink.namespace.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
    sender = stack.enter_context(source.namespace.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
    enlarge_buffer(receiver)
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    receiver.bind((str(sink.address), 0))
    receiver.settimeout(0)
    sender.connect((str(sink.address), receiver.getsockname()[1]))
    train = train_packets(asked, profile)
    pace = loss_pace(asked, delay_ms, SMALL_PAYLOAD_BYTES)
    way = _Way(asked, delay_ms / 1e3, sender, receiver, train, max(1, min(LOSS_PACKETS, int(pace * LOSS_S))), pace)
    if train and asked.rate_mbit_s:
        way.begin_s = train * ETHERNET_MTU_FRAME_BYTES * 8 / (asked.rate_mbit_s * 1e6) + 0.005
    return way


def _send(ways: Sequence[_Way]) -> None:
    large, small = bytes(_LARGE_PAYLOAD_BYTES), bytes(SMALL_PAYLOAD_BYTES - _NUMBER.size)
    start = time.perf_counter()
    for way in ways:
        for _ in range(way.train):
            way.sender.send(large)
    while any(way.sent < way.count for way in ways):
        now = time.perf_counter() - start
        for way in ways:
            due = min(way.count, int((now - way.begin_s) * way.pace))
            burst = max(1, min(32, way.asked.queue_packets // 4))
            if due - way.sent > burst:  # held up: go on at the pace from here, rather than fill the queue
                way.begin_s += (due - way.sent - burst) / way.pace
                due = way.sent + burst
            while way.sent < due:
                way.sender.send(_NUMBER.pack(way.sent) + small)
                way.sent += 1
        time.sleep(_TICK_S)


def _collect(ways: Sequence[_Way], is_alive: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + max(way.delay_s for way in ways) + _LATE_S
    while True:
        late = time.perf_counter() > deadline
        for way in ways:
            _drain(way)
        if late or all(way.complete for way in ways):
            break
        time.sleep(_TICK_S)
    if not is_alive():
        raise PathLost("The box is gone (its process ended).")


def _drain(way: _Way) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            data, ancillary, _, _ = way.receiver.recvmsg(_LARGE_PAYLOAD_BYTES, 64)
            if len(data) == SMALL_PAYLOAD_BYTES:
                way.numbers.add(_NUMBER.unpack_from(data)[0])
            else:
                way.arrivals_s += [
                    seconds + nanoseconds / 1e9
                    for level, kind, stamp in ancillary
                    if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS)
                    for seconds, nanoseconds in [_TIMESPEC.unpack(stamp)]
                ]


def _found(way: _Way, profile: Profile) -> DirectionProbe:
    return DirectionProbe(
        rate_requested_mbit_s=way.asked.rate_mbit_s,
        rate_mbit_s=rate_of(sorted(way.arrivals_s)) if way.train else None,
        loss_requested_pct=way.asked.expected_loss_pct,
        sent=way.count,
        lost=way.count - len(way.numbers),
        rate_unjudged=rate_unjudged(way.asked, profile),
        loss_unjudged=loss_unjudged(way.asked),
    )

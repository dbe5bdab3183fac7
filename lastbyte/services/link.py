"""The link under a worker: opened when first needed, rebuilt when lost, one trial at a time on it."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from lastbyte.domain.errors import PathLost
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import DirectionCounters, LinkProof
from lastbyte.ports import CounterSnapshot, Path, PathFactory, RttProbe
from lastbyte.stats.tolerance import rtt_out_of_tolerance

MAX_REBUILDS = 3
"""Rebuilds in a row before the loss of the path is somebody else's problem."""

PROBE_PINGS = 20
PROBE_INTERVAL_S = 0.005
CALM_WAITS_S = (0.2, 0.5, 1.0, 2.0)
"""A probe out of tolerance is repeated after each of these: a machine that was busy for a moment calms down, a link
that is wrong stays wrong. The last probe is what is stored."""

DRAINED_BELOW_PACKETS = 8
"""A downlink queue this short holds the end of the trial before, not the rest of a transfer that was broken off."""
DRAIN_LIMIT_S = 5.0


class Link:
    """Holds one path and knows what it was asked to be. Not for use by two threads."""

    def __init__(self, factory: PathFactory) -> None:
        self._factory = factory
        self._path: Path | None = None
        self._shape: tuple[Profile, float] | None = None
        self._last: CounterSnapshot | None = None

    @property
    def box_kind(self) -> str:
        """``kernel`` or ``uml``; empty before the first use."""
        return self._path.box_kind if self._path else ""

    def shape(self, profile: Profile, base_rtt_ms: float) -> RttProbe:
        """Make the link be ``profile`` and prove its round-trip time; rebuilds a lost path.

        Raises PathUnavailable when no path can be made here, PathLost when it keeps dying.
        """
        self._shape = (profile, base_rtt_ms)
        for attempt in range(1, MAX_REBUILDS + 1):
            try:
                path = self._path or self._open()
                path.configure(profile, base_rtt_ms)
                probe = _calm_probe(path)
                self._last = path.counters()
            except PathLost:
                self._drop()
                if attempt == MAX_REBUILDS:
                    raise
            else:
                return probe
        raise PathLost("the path could not be rebuilt")

    def restore(self) -> None:
        """Bring a lost path back in the shape it had; nothing to do when it lives. Raises as ``shape`` does."""
        if self._path is not None and self._path.is_alive():
            return
        self._drop()
        if self._shape is not None:
            self.shape(*self._shape)

    def command_prefix(self) -> tuple[str, ...]:
        """Arguments that make a command run on the client's side of the link; raises PathLost."""
        if self._path is None or not self._path.is_alive():
            raise PathLost("the path is gone")
        return self._path.command_prefix()

    def proof_since_last(self) -> LinkProof:
        """What crossed the link since the last call; waits until a queue that is left over has drained.

        Raises PathLost.
        """
        if self._path is None or self._last is None:
            raise PathLost("the path is gone")
        before, after = self._last, self._path.counters()
        self._last = after
        if after.downlink.backlog_packets > DRAINED_BELOW_PACKETS:
            self._last = self._drained(self._path)
        return LinkProof(
            downlink=_difference(before.downlink, after.downlink),
            uplink=_difference(before.uplink, after.uplink),
            udp_rcvbuf_errors=after.udp_rcvbuf_errors - before.udp_rcvbuf_errors,
        )

    def close(self) -> None:
        """Remove the path; may be called twice."""
        self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> Path:
        self._path = self._factory.open()
        return self._path

    def _drop(self) -> None:
        path, self._path, self._last = self._path, None, None
        if path is not None:
            path.close()

    @staticmethod
    def _drained(path: Path) -> CounterSnapshot:
        """Counters once what an aborted transfer left in the queue has gone, so that the next trial starts clean."""
        deadline = time.monotonic() + DRAIN_LIMIT_S
        while True:
            snapshot = path.counters()
            if snapshot.downlink.backlog_packets <= DRAINED_BELOW_PACKETS or time.monotonic() > deadline:
                return snapshot
            time.sleep(0.02)


def _calm_probe(path: Path) -> RttProbe:
    probe = path.probe_rtt(PROBE_PINGS, PROBE_INTERVAL_S)
    for wait_s in CALM_WAITS_S:
        if not rtt_out_of_tolerance(probe.requested_ms, probe.samples_ms):
            break
        time.sleep(wait_s)
        probe = path.probe_rtt(PROBE_PINGS, PROBE_INTERVAL_S)
    return probe


def _difference(before: DirectionCounters, after: DirectionCounters) -> DirectionCounters:
    return DirectionCounters(
        sent_packets=after.sent_packets - before.sent_packets,
        sent_bytes=after.sent_bytes - before.sent_bytes,
        dropped_packets=after.dropped_packets - before.dropped_packets,
        backlog_packets=after.backlog_packets,
    )

"""The link under a worker: opened when first needed, rebuilt when lost, one trial at a time on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from lastbyte.domain.errors import PathLost
from lastbyte.domain.link_probe import LinkProbe
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.tolerance import DEFAULT, Tolerances
from lastbyte.domain.trial import DirectionCounters, HostUse, LinkProof
from lastbyte.ports import (
    CounterSnapshot,
    HostMeter,
    HostReading,
    Path,
    PathFactory,
    PlaysTimelines,
    ProbesLinks,
    RttProbe,
    Seedable,
    Tap,
    Tappable,
)
from lastbyte.stats.link_probe import link_out_of_tolerance
from lastbyte.stats.tolerance import outside_gate, overflow_packets

MAX_REBUILDS = 3
"""Rebuilds in a row before the loss of the path is somebody else's problem."""

PROBE_PINGS = 20
PROBE_INTERVAL_S = 0.005
DRAINED_BELOW_PACKETS = 8
"""A downlink queue this short holds the end of the trial before, not the rest of a transfer that was broken off."""
DRAIN_LIMIT_S = 5.0


class Link:
    """Holds one path and knows what it was asked to be. Not for use by two threads."""

    def __init__(
        self,
        factory: PathFactory,
        meter: HostMeter | None = None,
        describe: Callable[[Path], Mapping[str, object]] | None = None,
        box_processes: Callable[[Path], Sequence[int]] | None = None,
        limits: Tolerances = DEFAULT,
    ) -> None:
        self._factory = factory
        self._meter = meter
        self._describe = describe
        self._box_processes = box_processes
        self._box: Sequence[int] | None = None
        self._limits = limits
        self._path: Path | None = None
        self._shape: tuple[Profile, float] | None = None
        self._last: CounterSnapshot | None = None
        self._host: HostReading | None = None
        self._seed: int | None = None
        self._machine: Mapping[str, object] | None = None
        self.probed: LinkProbe | None = None
        """What the last ``shape`` found of rate and loss; None where the path can't tell."""

    @property
    def box_kind(self) -> str:
        """``kernel`` or ``uml``; empty before the first use."""
        return self._path.box_kind if self._path else ""

    def shape(self, profile: Profile, base_rtt_ms: float) -> RttProbe:
        """Make the link be ``profile`` and prove its round-trip time, rate and loss; rebuilds a lost path.

        Raises PathUnavailable when no path can be made here, PathLost when it keeps dying.
        """
        self._shape = (profile, base_rtt_ms)
        for attempt in range(1, MAX_REBUILDS + 1):
            try:
                path = self._path or self._open()
                path.configure(profile, base_rtt_ms)
                probe = self._calm_probe(path, profile)
                self.probed = self._link_probe(path)
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

    def machine(self) -> Mapping[str, object]:
        """Record of the machine and the path, read once for each path; empty without a path or a meter."""
        if self._path is None:
            return {}
        if self._machine is None:
            described = dict(self._meter.describe(self._path.command_prefix())) if self._meter else {}
            if self._describe is not None:
                described["path"] = dict(self._describe(self._path))
            self._machine = described
        return self._machine

    def begin_trial(self, seed: int | None = None) -> tuple[str, ...]:
        """As ``command_prefix``, and from here on what happens counts to the trial.

        A timeline starts to play. ``seed`` begins the link's random numbers anew where the box can do that and the
        profile leaves anything to chance. Raises PathLost.
        """
        prefix = self.command_prefix()
        profile = self._profile
        self._seed = self._reseed(seed) if seed is not None and leaves_to_chance(profile) else None
        path = self._path
        if path is not None and profile.timeline is not None and isinstance(path, PlaysTimelines):
            path.start_timeline()
        self._host = self._read_host()
        return prefix

    def proof_since_last(self) -> LinkProof:
        """What crossed the link since the last call; waits until a queue that is left over has drained.

        Raises PathLost.
        """
        if self._path is None or self._last is None:
            raise PathLost("the path is gone")
        host = self._host_use()
        profile = self._profile
        played = None
        if profile.timeline is not None and isinstance(self._path, PlaysTimelines):
            played = self._path.stop_timeline()
        before, after = self._last, self._path.counters()
        self._last = after
        if after.downlink.backlog_packets > DRAINED_BELOW_PACKETS:
            self._last = self._drained(self._path)
        changes = profile.timeline is not None
        return LinkProof(
            downlink=_difference(before.downlink, after.downlink, profile.downlink, changes=changes),
            uplink=_difference(before.uplink, after.uplink, profile.uplink, changes=changes),
            udp_rcvbuf_errors=after.udp_rcvbuf_errors - before.udp_rcvbuf_errors,
            host=host,
            netem_seed=self._seed,
            played=played,
        )

    @contextmanager
    def tap(self, limit_bytes: int) -> Iterator[Tap | None]:
        """See the packets of the client's side while the block runs; None where they can't be seen.

        Brings a lost path back first, and raises as ``restore`` does.
        """
        self.restore()
        with ExitStack() as stack:
            path, tap = self._path, None
            if path is not None and isinstance(path, Tappable):
                with suppress(OSError, PathLost):
                    tap = stack.enter_context(path.tap(limit_bytes))
            yield tap

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
        path, self._path, self._last, self._machine, self._box = self._path, None, None, None, None
        if path is not None:
            path.close()

    def _calm_probe(self, path: Path, profile: Profile) -> RttProbe:
        """Probe until the link is calm (the ambient gate), a few times at most; the last probe is what is stored.

        A machine that was busy for a moment calms down, a link that is wrong stays wrong.
        """
        waits = 0
        while True:
            probe = path.probe_rtt(PROBE_PINGS, PROBE_INTERVAL_S)
            why = outside_gate(probe.requested_ms, probe.samples_ms, self._limits, profile.rtt_spread_ms)
            if not why or waits == len(self._limits.gate_waits_s):
                return replace(probe, waits=waits, calm=not why)
            time.sleep(self._limits.gate_waits_s[waits])
            waits += 1

    def _link_probe(self, path: Path) -> LinkProbe | None:
        """Rate and loss, repeated while they are out of tolerance, a few times at most; the last one is stored."""
        if not isinstance(path, ProbesLinks):
            return None
        repeats = 0
        while True:
            probe = path.probe_link()
            if repeats == self._limits.probe_repeats or not link_out_of_tolerance(probe, self._limits):
                return replace(probe, repeats=repeats)
            repeats += 1

    @property
    def _profile(self) -> Profile:
        return self._shape[0] if self._shape else Profile("")

    def _reseed(self, seed: int) -> int | None:
        """The seed, when the path took it."""
        path = self._path
        return seed if path is not None and isinstance(path, Seedable) and path.reseed(seed) else None

    def _read_host(self) -> HostReading | None:
        if self._meter is None or self._path is None:
            return None
        if self._box is None:
            self._box = self._box_processes(self._path) if self._box_processes else ()
        return self._meter.read(self._box)

    def _host_use(self) -> HostUse | None:
        before, self._host = self._host, None
        after = self._read_host() if before else None
        return host_use(before, after) if before and after else None

    @staticmethod
    def _drained(path: Path) -> CounterSnapshot:
        """Counters once what an aborted transfer left in the queue has gone, so that the next trial starts clean."""
        deadline = time.monotonic() + DRAIN_LIMIT_S
        while True:
            snapshot = path.counters()
            if snapshot.downlink.backlog_packets <= DRAINED_BELOW_PACKETS or time.monotonic() > deadline:
                return snapshot
            time.sleep(0.02)


def leaves_to_chance(profile: Profile) -> bool:
    """True when netem draws random numbers for it: loss, jitter, reordering, duplicates, corruption."""
    return any(
        item.expected_loss_pct or item.jitter_ms or item.reorder_pct or item.duplicate_pct or item.corrupt_pct
        for item in (profile.downlink, profile.uplink)
    )


def host_use(before: HostReading, after: HostReading) -> HostUse:
    """What the machine did between two readings. With no tick counted in between, no share can be told: 0."""
    elapsed_s = max(after.at_s - before.at_s, 1e-9)
    cpu_s = after.cpu_s - before.cpu_s
    steal_s = after.steal_s - before.steal_s
    return HostUse(
        elapsed_s=elapsed_s,
        busy_share=1 - (after.idle_s - before.idle_s) / cpu_s if cpu_s > 0 else 0.0,
        steal_share=steal_s / cpu_s if cpu_s > 0 else 0.0,
        steal_s=steal_s,
        load1=after.load1,
        pressure_share=_rate(before.pressure_s, after.pressure_s, elapsed_s),
        box_cpu_share=_rate(before.box_s, after.box_s, elapsed_s),
    )


def _rate(before: float | None, after: float | None, elapsed_s: float) -> float | None:
    return None if before is None or after is None else max(0.0, after - before) / elapsed_s


def _difference(
    before: DirectionCounters, after: DirectionCounters, asked: Impairment, *, changes: bool
) -> DirectionCounters:
    seen = DirectionCounters(
        sent_packets=after.sent_packets - before.sent_packets,
        sent_bytes=after.sent_bytes - before.sent_bytes,
        dropped_packets=after.dropped_packets - before.dropped_packets,
        backlog_packets=after.backlog_packets,
    )
    return replace(seen, overflow_packets=overflow_packets(seen, asked, changes=changes))

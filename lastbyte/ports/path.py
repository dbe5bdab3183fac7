"""The shaped path, as the use cases see it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Protocol, Self, runtime_checkable

from lastbyte.domain.link_probe import LinkProbe
from lastbyte.domain.profile import Profile
from lastbyte.domain.timeline import Played
from lastbyte.domain.trial import DirectionCounters


@dataclass(frozen=True, slots=True)
class CounterSnapshot:
    """Counters of a path since its qdiscs were set, at one moment."""

    downlink: DirectionCounters
    uplink: DirectionCounters
    udp_rcvbuf_errors: int


@dataclass(frozen=True, slots=True)
class RttProbe:
    """Round-trip times through the box, in milliseconds; empty when no answer came."""

    requested_ms: float
    samples_ms: tuple[float, ...]
    lost: int = 0
    waits: int = 0
    """How often the cell waited for the link to calm down before this probe."""
    calm: bool = True
    """False when the link was still outside the ambient gate after the last wait."""


@runtime_checkable
class Path(Protocol):
    """A live link that carries one trial at a time."""

    @property
    def box_kind(self) -> str:
        """``kernel`` or ``uml``."""

    def configure(self, profile: Profile, base_rtt_ms: float = 0.0) -> None:
        """Shape the link by ``profile`` plus ``base_rtt_ms`` of distance, half of it each way.

        Raises PathLost when the box is gone.
        """

    def command_prefix(self) -> tuple[str, ...]:
        """Arguments that make a command run in the client's namespace."""

    def probe_rtt(self, count: int, interval_s: float) -> RttProbe:
        """Round trips between the client and the far side of the box; raises PathLost."""

    def counters(self) -> CounterSnapshot:
        """Both qdiscs' counters and the client's UDP errors now; raises PathLost."""

    def is_alive(self) -> bool:
        """True while the box and the namespaces are there."""

    def close(self) -> None:
        """Remove all that was made; may be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


@runtime_checkable
class Seedable(Protocol):
    """A path that can begin its random numbers anew; others need not have this."""

    def reseed(self, seed: int) -> bool:
        """Begin anew from ``seed``; False, and nothing done, where the box can't. Raises PathLost."""


@runtime_checkable
class ProbesLinks(Protocol):
    """A path that can tell its rate and loss in a moment; others need not have this."""

    def probe_link(self) -> LinkProbe:
        """Rate and loss of both directions as the path is shaped now; raises PathLost."""


@runtime_checkable
class PlaysTimelines(Protocol):
    """A path that changes while a trial runs; others need not have this."""

    def start_timeline(self) -> None:
        """Begin to play the profile's timeline, now; nothing to do without one. Raises PathLost."""

    def stop_timeline(self) -> Played | None:
        """End it and put the profile back as it is at rest; None when none was played. Raises PathLost."""


class Tap(Protocol):
    """Packets at the client's side of the path, while its block runs."""

    @property
    def cut_off(self) -> int:
        """Packets that came after the limit and were not kept."""

    @property
    def lost(self) -> int:
        """Packets that the kernel dropped because they were not read fast enough."""

    def write_pcap(self, file: FilePath) -> None:
        """Everything that was kept, in order of time; raises OSError."""


@runtime_checkable
class Tappable(Protocol):
    """A path whose packets can be seen; others need not have this."""

    def tap(self, limit_bytes: int) -> AbstractContextManager[Tap]:
        """See the packets while the block runs, up to so many bytes. Raises PathLost."""


class PathFactory(Protocol):
    """Opens paths."""

    def open(self) -> Path:
        """A fresh path; raises PathUnavailable saying what is missing."""

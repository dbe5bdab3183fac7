"""What was found of a link's rate and loss before a cell's trials, each way, beside what was requested. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DirectionProbe:
    """One direction."""

    rate_requested_mbit_s: float | None
    """At layer 2, in Mbit/s; None: no limit was asked for."""
    rate_mbit_s: float | None
    """From the spacing of a train of full-sized packets where they arrived; None: none was sent, or too few came."""
    loss_requested_pct: float
    """What the profile makes of its loss in the long run, in percent."""
    sent: int
    """Small datagrams sent to count losses by."""
    lost: int
    rate_unjudged: str = ""
    """Why the rate can't be judged in a moment; empty when it is."""
    loss_unjudged: str = ""
    """Why the count of losses can't be judged; empty when it is."""

    @property
    def loss_pct(self) -> float | None:
        """Loss found, in percent; None when nothing was sent."""
        return 100 * self.lost / self.sent if self.sent else None


@dataclass(frozen=True, slots=True)
class LinkProbe:
    """Both directions, probed at the same time."""

    downlink: DirectionProbe
    uplink: DirectionProbe
    elapsed_s: float
    repeats: int = 0
    """How often it was repeated because it was out of tolerance; this is the last one."""

"""Profiles: the network condition that a path is asked to have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lastbyte.domain import advice
from lastbyte.domain.impairment import ETHERNET_MTU_FRAME_BYTES, Impairment
from lastbyte.domain.timeline import Timeline

__all__ = ["ETHERNET_MTU_FRAME_BYTES", "Impairment", "Profile"]


@dataclass(frozen=True, slots=True)
class Profile:
    """A named network condition: what each direction of the path does."""

    name: str
    description: str = ""
    downlink: Impairment = field(default_factory=Impairment)
    """From the origin to the client."""
    uplink: Impairment = field(default_factory=Impairment)
    """From the client to the origin."""
    group: str = ""
    """Heading under which lists show it."""
    source: str = ""
    """Where its numbers come from, and which of them are assumptions."""
    timeline: Timeline | None = None
    """How it changes while a trial runs; None: not at all."""

    @property
    def extra_rtt_ms(self) -> float:
        """Round-trip time added by the profile, in milliseconds."""
        return self.downlink.delay_ms + self.uplink.delay_ms

    @property
    def loss_pct(self) -> float:
        """The larger of the two directions' loss as asked for, in percent: the value of a heatmap's loss axis."""
        return max(self.downlink.nominal_loss_pct, self.uplink.nominal_loss_pct)

    @property
    def rate_mbit_s(self) -> float | None:
        """Downlink rate in Mbit/s; None: unlimited."""
        return self.downlink.rate_mbit_s

    @property
    def rtt_spread_ms(self) -> float:
        """How far single round trips may lie from the requested one by design, in milliseconds: jitter, slots, and
        the delay that overtaking packets skip."""
        return sum(
            item.jitter_ms + (item.slot.longest_ms if item.slot else 0.0) + (item.delay_ms if item.reorder_pct else 0.0)
            for item in (self.downlink, self.uplink)
        )

    def with_queues(self, base_rtt_ms: float = 0.0) -> Profile:
        """The same with queues in packets: multiples of the BDP are taken of the profile's RTT plus ``base_rtt_ms``."""
        rtt_ms = self.extra_rtt_ms + base_rtt_ms
        return replace(self, downlink=self.downlink.with_queue(rtt_ms), uplink=self.uplink.with_queue(rtt_ms))

    def warnings(self, base_rtt_ms: float | None = None) -> tuple[str, ...]:
        """What may mislead about this profile, each in a sentence; empty when nothing does.

        ``base_rtt_ms`` is the endpoint's distance; None: unknown, so only what holds at any distance is said.
        """
        found = {
            name: advice.direction_warnings(
                item,
                self.extra_rtt_ms,
                base_rtt_ms,
                changes_rate=self.timeline is not None and self.timeline.changes_rate(name),
            )
            for name, item in (("downlink", self.downlink), ("uplink", self.uplink))
        }
        both = [text for text in found["downlink"] if text in found["uplink"]]
        lines = [f"both directions: {text}" for text in both]
        lines += [f"{name}: {text}" for name, texts in found.items() for text in texts if text not in both]
        return tuple(lines + (advice.timeline_warnings(self.timeline) if self.timeline else []))

    def validate(self) -> None:
        """Raise InvalidInput when a value is out of range or two can't go together."""
        self.downlink.validate(f"{self.name}.downlink")
        self.uplink.validate(f"{self.name}.uplink")
        if self.timeline is not None:
            self.timeline.validate(f"{self.name}.timeline", self.downlink, self.uplink)

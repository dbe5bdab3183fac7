"""Profiles: the network condition that a path is asked to have."""

from __future__ import annotations

from dataclasses import dataclass, field

from lastbyte.domain.errors import InvalidInput

ETHERNET_MTU_FRAME_BYTES = 1514
"""What one full-sized packet counts in netem: 1500 bytes of IP and 14 of Ethernet header."""


@dataclass(frozen=True, slots=True)
class Impairment:
    """What one direction of a link does to packets. All zero or None: nothing at all."""

    delay_ms: float = 0.0
    """Constant one-way delay added, in milliseconds."""
    loss_pct: float = 0.0
    """Independent random loss, in percent of packets."""
    rate_mbit_s: float | None = None
    """Rate limit in Mbit/s at layer 2, as netem counts it (frame with Ethernet header); None: unlimited."""
    queue_packets: int = 340
    """Room of the bottleneck queue in packets, beyond those held by the delay line. 340 full-sized packets are
    about 400 ms at 10 Mbit/s. netem's own silent default is 1000 for both together (tc-netem(8))."""

    @property
    def is_clear(self) -> bool:
        """True when packets pass unharmed."""
        return self.delay_ms == 0 and self.loss_pct == 0 and self.rate_mbit_s is None

    def validate(self, field_name: str) -> None:
        """Raise InvalidInput naming ``field_name``.x when a value is out of its range."""
        if not 0 <= self.delay_ms <= 10_000:
            raise InvalidInput(
                f"{field_name}.delay_ms", f"{self.delay_ms} is out of range.", "Use 0 to 10000 milliseconds."
            )
        if not 0 <= self.loss_pct <= 100:
            raise InvalidInput(f"{field_name}.loss_pct", f"{self.loss_pct} is out of range.", "Use 0 to 100 percent.")
        if self.rate_mbit_s is not None and not 0.01 <= self.rate_mbit_s <= 10_000:
            raise InvalidInput(
                f"{field_name}.rate_mbit_s", f"{self.rate_mbit_s} is out of range.", "Use 0.01 to 10000 Mbit/s."
            )
        if not 1 <= self.queue_packets <= 1_000_000:
            raise InvalidInput(
                f"{field_name}.queue_packets", f"{self.queue_packets} is out of range.", "Use 1 to 1000000 packets."
            )


@dataclass(frozen=True, slots=True)
class Profile:
    """A named network condition: what each direction of the path does."""

    name: str
    description: str = ""
    downlink: Impairment = field(default_factory=Impairment)
    """From the origin to the client."""
    uplink: Impairment = field(default_factory=Impairment)
    """From the client to the origin."""

    @property
    def extra_rtt_ms(self) -> float:
        """Round-trip time added by the profile, in milliseconds."""
        return self.downlink.delay_ms + self.uplink.delay_ms

    @property
    def loss_pct(self) -> float:
        """The larger of the two directions' random loss, in percent: the value of a heatmap's loss axis."""
        return max(self.downlink.loss_pct, self.uplink.loss_pct)

    @property
    def rate_mbit_s(self) -> float | None:
        """Downlink rate in Mbit/s; None: unlimited."""
        return self.downlink.rate_mbit_s

    def validate(self) -> None:
        """Raise InvalidInput when a value is out of range."""
        self.downlink.validate(f"{self.name}.downlink")
        self.uplink.validate(f"{self.name}.uplink")

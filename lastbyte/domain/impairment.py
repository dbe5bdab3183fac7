"""What one direction of a link does to packets: the options of tc-netem(8) under names that carry their units."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.loss import FourState, GilbertElliott, LossModel, check_percentage, correlated_share_pct

ETHERNET_MTU_FRAME_BYTES = 1514
"""What one full-sized packet counts in netem: 1500 bytes of IP and 14 of Ethernet header."""

JITTER_DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")
"""Without a table netem spreads jitter uniformly (sch_netem.c, tabledist), whatever the manual page says; the others
are tables that come with iproute2 (files *.dist)."""

MIN_QUEUE_PACKETS = 10
"""A queue stated in multiples of the BDP never gets shorter than this: one initial window (RFC 6928)."""

MAX_DELAY_MS = 10_000.0
RATE_RANGE_MBIT_S = (0.01, 10_000.0)


@dataclass(frozen=True, slots=True)
class Slot:
    """Packets leave in batches, as on Wi-Fi, DOCSIS or LTE: collected, then sent together when the slot comes."""

    min_ms: float
    """Shortest time to the next slot, in milliseconds."""
    max_ms: float | None = None
    """Longest; None: as the shortest."""
    packets: int = 0
    """Packets per slot at most; 0: no limit."""
    bytes: int = 0
    """Bytes per slot at most; 0: no limit."""

    @property
    def longest_ms(self) -> float:
        """The longest time between two slots, in milliseconds."""
        return self.min_ms if self.max_ms is None else self.max_ms

    def validate(self, field_name: str) -> None:
        """Raise InvalidInput naming ``field_name``.x when a value is out of its range."""
        _check(f"{field_name}.min_ms", self.min_ms, 0.01, 1000, "milliseconds")
        if self.max_ms is not None:
            _check(f"{field_name}.max_ms", self.max_ms, self.min_ms, 1000, "milliseconds, no less than min_ms")
        _check(f"{field_name}.packets", self.packets, 0, 100_000, "packets")
        _check(f"{field_name}.bytes", self.bytes, 0, 100_000_000, "bytes")


@dataclass(frozen=True, slots=True)
class Impairment:
    """What one direction of a link does to packets. All zero or None: nothing at all."""

    delay_ms: float = 0.0
    """Constant one-way delay added, in milliseconds."""
    loss_pct: float = 0.0
    """Random loss, in percent of packets; independent unless ``loss_correlation_pct`` is set."""
    rate_mbit_s: float | None = None
    """Rate limit in Mbit/s at layer 2, as netem counts it (frame with Ethernet header); None: unlimited."""
    queue_packets: int = 340
    """Room of the bottleneck queue in packets, beyond those held by the delay line. 340 full-sized packets are
    about 400 ms at 10 Mbit/s. netem's own silent default is 1000 for both together (tc-netem(8))."""
    queue_bdp: float | None = None
    """The same room in multiples of the bandwidth-delay product instead; None: ``queue_packets`` counts. The product
    is this direction's rate times the round trip of the profile and the endpoint's base RTT together."""
    jitter_ms: float = 0.0
    """Variation of the delay, in milliseconds: half the width of ``uniform``, about one standard deviation of the
    others."""
    jitter_distribution: str = "uniform"
    """One of JITTER_DISTRIBUTIONS."""
    jitter_correlation_pct: float = 0.0
    """How much each delay is mixed with the one before, in percent."""
    loss_correlation_pct: float = 0.0
    """How much each draw for ``loss_pct`` is mixed with the one before, in percent."""
    loss_gemodel: GilbertElliott | None = None
    """Loss in bursts, instead of ``loss_pct``."""
    loss_state: FourState | None = None
    """Loss in bursts by four states, instead of ``loss_pct``."""
    reorder_pct: float = 0.0
    """Packets that overtake those still held by the delay, in percent."""
    reorder_correlation_pct: float = 0.0
    reorder_gap: int = 1
    """Packets from one candidate for overtaking to the next: with 5, at least four are delayed in between."""
    duplicate_pct: float = 0.0
    """Packets that come twice, in percent."""
    duplicate_correlation_pct: float = 0.0
    corrupt_pct: float = 0.0
    """Packets with one flipped bit, in percent."""
    corrupt_correlation_pct: float = 0.0
    slot: Slot | None = None
    """Departure in batches; None: each packet when it is due."""

    @property
    def is_clear(self) -> bool:
        """True when packets pass unharmed and at once."""
        return replace(self, queue_packets=340, queue_bdp=None) == Impairment()

    @property
    def loss_model(self) -> LossModel | None:
        """The burst model that is set, if any."""
        return self.loss_gemodel or self.loss_state

    @property
    def nominal_loss_pct(self) -> float:
        """Loss as it is asked for, in percent: ``loss_pct`` or the long-run loss of the burst model."""
        return round(self.loss_model.mean_loss_pct, 6) if self.loss_model else self.loss_pct

    @property
    def expected_loss_pct(self) -> float:
        """Loss that netem really makes of that in the long run, in percent (see ``loss.correlated_share_pct``)."""
        if self.loss_model:
            return self.loss_model.mean_loss_pct
        return correlated_share_pct(self.loss_pct, self.loss_correlation_pct)

    @property
    def loss_burst_factor(self) -> float:
        """How much wider a count of losses scatters than a binomial one of the same mean, as a ratio of variances."""
        return self.loss_model.burst_factor if self.loss_model else 1.0

    def bdp_packets(self, rtt_ms: float) -> float:
        """Full-sized packets in flight at this rate over a round trip; infinite without a rate."""
        if self.rate_mbit_s is None:
            return math.inf
        return self.rate_mbit_s * 1e3 * rtt_ms / (8 * ETHERNET_MTU_FRAME_BYTES)

    def with_queue(self, rtt_ms: float) -> Impairment:
        """The same with ``queue_bdp`` turned into packets for that round trip."""
        if self.queue_bdp is None:
            return self
        packets = max(MIN_QUEUE_PACKETS, math.ceil(self.queue_bdp * self.bdp_packets(rtt_ms)))
        return replace(self, queue_packets=packets, queue_bdp=None)

    def validate(self, field_name: str) -> None:
        """Raise InvalidInput naming ``field_name``.x when a value is out of its range or two can't go together."""
        _check(f"{field_name}.delay_ms", self.delay_ms, 0, MAX_DELAY_MS, "milliseconds")
        _check(f"{field_name}.jitter_ms", self.jitter_ms, 0, MAX_DELAY_MS, "milliseconds")
        for name in ("loss_pct", "reorder_pct", "duplicate_pct", "corrupt_pct"):
            check_percentage(f"{field_name}.{name}", getattr(self, name))
        for name in ("jitter", "loss", "reorder", "duplicate", "corrupt"):
            correlation = getattr(self, f"{name}_correlation_pct")
            check_percentage(f"{field_name}.{name}_correlation_pct", correlation)
            if correlation and not getattr(self, "jitter_ms" if name == "jitter" else f"{name}_pct"):
                unit = "ms" if name == "jitter" else "pct"
                raise InvalidInput(
                    f"{field_name}.{name}_correlation_pct",
                    f"says nothing without {name}_{unit}.",
                    f"Set {name}_{unit}.",
                )
        if self.jitter_distribution not in JITTER_DISTRIBUTIONS:
            raise InvalidInput(
                f"{field_name}.jitter_distribution",
                f"there is no distribution {self.jitter_distribution!r}.",
                f"Known: {', '.join(JITTER_DISTRIBUTIONS)}.",
            )
        if self.rate_mbit_s is not None:
            _check(f"{field_name}.rate_mbit_s", self.rate_mbit_s, *RATE_RANGE_MBIT_S, "Mbit/s")
        _check(f"{field_name}.queue_packets", self.queue_packets, 1, 1_000_000, "packets")
        if self.queue_bdp is not None:
            _check(f"{field_name}.queue_bdp", self.queue_bdp, 0.01, 100, "times the bandwidth-delay product")
            if self.rate_mbit_s is None:
                raise InvalidInput(f"{field_name}.queue_bdp", "has no product without a rate.", "Set rate_mbit_s.")
        _check(f"{field_name}.reorder_gap", self.reorder_gap, 1, 10_000, "packets")
        if self.reorder_gap != 1 and not self.reorder_pct:
            raise InvalidInput(f"{field_name}.reorder_gap", "says nothing without reorder_pct.", "Set reorder_pct.")
        self._validate_loss(field_name)
        if self.slot is not None:
            self.slot.validate(f"{field_name}.slot")

    def _validate_loss(self, field_name: str) -> None:
        named = [name for name in ("loss_pct", "loss_gemodel", "loss_state") if getattr(self, name)]
        if len(named) > 1:
            raise InvalidInput(
                f"{field_name}.{named[1]}",
                f"can't be had together with {named[0]}: netem has one loss model.",
                "Set one.",
            )
        for name in ("loss_gemodel", "loss_state"):
            model: LossModel | None = getattr(self, name)
            if model is not None:
                model.validate(f"{field_name}.{name}")


def _check(field_name: str, value: float, low: float, high: float, unit: str) -> None:
    if not low <= value <= high:
        raise InvalidInput(field_name, f"{value} is out of range.", f"Use {low:g} to {high:.0f} {unit}.")

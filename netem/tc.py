"""What tc is told (tc(8), tc-netem(8), tc-tbf(8)). Pure: no process is started here; ``readback`` has the answers.

Every port of a box carries one netem qdisc. It holds packets for two reasons at once, so its limit is the sum of two
parts: the delay line (what is in flight on a link of that length and rate) and the bottleneck queue proper.

netem settles when a packet leaves at the moment it arrives. A rate that changes later would thus not touch what is
already queued: a short spike would be slow for all that came during it, long after it was over. So where a timeline
changes the rate, netem keeps the delay and a token bucket below it (tbf) keeps the rate, deciding as packets leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lastbyte.domain.profile import ETHERNET_MTU_FRAME_BYTES, Impairment, Profile

UNLIMITED_LINE_MBIT_S = 1000.0
"""A link without a rate limit still needs a finite delay line: it is sized for this rate."""

ORDER_KEEPING_MBIT_S = 10_000.0
"""netem keeps packets in order only when it has a rate; above a token bucket it gets one that holds nothing up."""

BURST_MS = 3.0
"""Credit of the token bucket: a timer that fires later than this loses rate. At least two full frames."""

CLEARING_HANDLE = 0x7FFF
_CHILD_HANDLES = 0x8000

Command = list[str]
"""Arguments after ``tc``."""


def delay_line_packets(delay_ms: float, rate_mbit_s: float | None) -> int:
    """Full-sized packets in flight on a link of that one-way delay and rate."""
    rate_bit_s = (rate_mbit_s if rate_mbit_s is not None else UNLIMITED_LINE_MBIT_S) * 1e6
    return math.ceil(delay_ms / 1e3 * rate_bit_s / (8 * ETHERNET_MTU_FRAME_BYTES))


def longest_delay_ms(impairment: Impairment, base_delay_ms: float = 0.0) -> float:
    """The most that a packet is held on purpose: delay, the reach of its jitter, the wait for a slot.

    The tables of iproute2 end at four times the jitter (32767 of 8192).
    """
    reach = 1 if impairment.jitter_distribution == "uniform" else 4
    slot_ms = impairment.slot.longest_ms if impairment.slot else 0.0
    return impairment.delay_ms + base_delay_ms + reach * impairment.jitter_ms + slot_ms


def limit_packets(impairment: Impairment, base_delay_ms: float = 0.0) -> int:
    """The netem limit: delay line plus queue."""
    line = delay_line_packets(longest_delay_ms(impairment, base_delay_ms), impairment.rate_mbit_s)
    return line + impairment.queue_packets


@dataclass(frozen=True, slots=True)
class Shape:
    """What one port is to do: an impairment with the endpoint's distance, and all that a timeline makes of it."""

    impairment: Impairment
    """At rest; its queue in packets."""
    base_delay_ms: float = 0.0
    """The endpoint's one-way distance, added to the profile's own delay."""
    variants: tuple[Impairment, ...] = ()
    """What it becomes in a timeline's steps."""
    elastic: bool = False
    """The rate changes, so a token bucket keeps it."""

    @property
    def limit_packets(self) -> int:
        """The netem limit, with room for every variant."""
        return max(limit_packets(item, self.base_delay_ms) for item in (self.impairment, *self.variants))

    def commands(self, device: str, handle: int, seed: int | None = None) -> list[Command]:
        """Put fresh qdiscs on ``device``.

        The handle must differ from the one before: replacing a netem under the same handle *changes* it, which keeps
        its counters, the packets it holds, and every option that is not named again, the old rate among them.
        """
        root = ["qdisc", "replace", "dev", device, "root", "handle", f"{handle:x}:", "netem"]
        commands = [root + self._netem(self.impairment, seed)]
        if self.elastic:
            commands.append(self._bucket("replace", device, handle, self.impairment))
        return commands

    def change(self, device: str, handle: int, item: Impairment, seed: int | None = None) -> list[Command]:
        """Make the living qdiscs be ``item``, one of the variants, or as at rest; counters and packets stay."""
        root = ["qdisc", "change", "dev", device, "root", "handle", f"{handle:x}:", "netem"]
        options = self._netem(item, seed)
        if "rate" not in options:
            options += ["rate", "0bit"]  # else the rate of the step before would stay
        commands = [root + options]
        if self.elastic:
            commands.append(self._bucket("change", device, handle, item))
        return commands

    def _netem(self, item: Impairment, seed: int | None) -> Command:
        arguments = ["limit", str(self.limit_packets), *_delay(item, self.base_delay_ms), *_loss(item)]
        for name in ("duplicate", "corrupt"):
            arguments += _share(name, getattr(item, f"{name}_pct"), getattr(item, f"{name}_correlation_pct"))
        if reorders(item, self.base_delay_ms):
            arguments += _share("reorder", item.reorder_pct, item.reorder_correlation_pct)
            arguments += ["gap", str(item.reorder_gap)]
        rate = ORDER_KEEPING_MBIT_S if self.elastic else item.rate_mbit_s
        if rate is not None:
            arguments += ["rate", _bits(rate)]
        if item.slot is not None:
            arguments += ["slot", _us(item.slot.min_ms), _us(item.slot.longest_ms)]
            arguments += ["packets", str(item.slot.packets), "bytes", str(item.slot.bytes)]
        if seed is not None:
            arguments += ["seed", str(seed)]
        return arguments

    def _bucket(self, verb: str, device: str, handle: int, item: Impairment) -> Command:
        rate = bucket_rate_mbit_s(item)
        burst = max(2 * ETHERNET_MTU_FRAME_BYTES, round(rate * 1e6 / 8 * BURST_MS / 1e3))
        arguments = ["qdisc", verb, "dev", device, "parent", f"{handle:x}:1", "handle", f"{_CHILD_HANDLES | handle:x}:"]
        limit = item.queue_packets * ETHERNET_MTU_FRAME_BYTES
        return [*arguments, "tbf", "rate", _bits(rate), "burst", f"{burst}b", "limit", f"{max(limit, burst)}b"]


def bucket_rate_mbit_s(item: Impairment) -> float:
    """Rate of the token bucket; one that holds nothing up where there is no limit."""
    return ORDER_KEEPING_MBIT_S if item.rate_mbit_s is None else item.rate_mbit_s


def shapes_of(profile: Profile, base_rtt_ms: float = 0.0) -> tuple[Shape, Shape]:
    """What the port towards the client (downlink) and the one towards the uplink are to do."""
    resolved, timeline = profile.with_queues(base_rtt_ms), profile.timeline

    def shape(direction: str, item: Impairment) -> Shape:
        if timeline is None:
            return Shape(item, base_rtt_ms / 2)
        variants = tuple(timeline.variants(direction, item))
        return Shape(item, base_rtt_ms / 2, variants, timeline.changes_rate(direction))

    return shape("downlink", resolved.downlink), shape("uplink", resolved.uplink)


def clearing_command(device: str) -> Command:
    """Take netem off ``device``. Kernels with the fix for duplicating trees (2025) refuse a netem that duplicates
    while another one is there, the one it is to replace among them."""
    handle = f"{CLEARING_HANDLE:x}:"
    return ["qdisc", "replace", "dev", device, "root", "handle", handle, "pfifo", "limit", "1000"]


def reorders(item: Impairment, base_delay_ms: float = 0.0) -> bool:
    """Whether packets can overtake: netem has nothing to send ahead of where there is no delay, and tc refuses it."""
    return item.reorder_pct > 0 and round((item.delay_ms + base_delay_ms) * 1000) > 0


def _delay(item: Impairment, base_delay_ms: float) -> Command:
    delay_us, jitter_us = round((item.delay_ms + base_delay_ms) * 1000), round(item.jitter_ms * 1000)
    # tc forgets the correlation of duplicates unless the one of the delay is named too (seen with iproute2 6.1).
    correlated = item.jitter_correlation_pct > 0 or item.duplicate_correlation_pct > 0
    arguments = ["delay", f"{delay_us}us"] if delay_us or jitter_us or correlated else []
    if jitter_us or correlated:
        arguments.append(f"{jitter_us}us")
    if correlated:
        arguments.append(_percent(item.jitter_correlation_pct))
    if jitter_us and item.jitter_distribution != "uniform":
        arguments += ["distribution", item.jitter_distribution]
    return arguments


def _loss(item: Impairment) -> Command:
    if item.loss_gemodel is not None:
        model = item.loss_gemodel
        values = (model.p_pct, model.r_pct, model.bad_loss_pct, model.good_loss_pct)
        return ["loss", "gemodel", *map(_percent, values)]
    if item.loss_state is not None:
        state = item.loss_state
        values5 = (state.p13_pct, state.p31_pct, state.p32_pct, state.p23_pct, state.p14_pct)
        return ["loss", "state", *map(_percent, values5)]
    if not item.loss_pct:
        return []
    return ["loss", "random", *_share("", item.loss_pct, item.loss_correlation_pct)[1:]]


def _share(name: str, percent: float, correlation_pct: float) -> Command:
    if not percent:
        return []
    return [name, _percent(percent), *([_percent(correlation_pct)] if correlation_pct else [])]


def _percent(value: float) -> str:
    return f"{value:.6f}%"


def _us(milliseconds: float) -> str:
    return f"{round(milliseconds * 1000)}us"


def _bits(rate_mbit_s: float) -> str:
    return f"{round(rate_mbit_s * 1e6)}bit"

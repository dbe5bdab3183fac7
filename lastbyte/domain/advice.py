"""Warnings: combinations that netem takes without a word and that do not do what a reader would think.

Each was tried on a real box; docs/profiles.md says how. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from lastbyte.domain.impairment import MIN_QUEUE_PACKETS, Impairment
from lastbyte.domain.loss import correlated_share_pct
from lastbyte.domain.timeline import Timeline

SHORT_RTT_MS = 5.0
"""Below this round trip the recovery of a lost packet is over too soon to show in a transfer time."""


def direction_warnings(
    item: Impairment, profile_rtt_ms: float, base_rtt_ms: float | None, *, changes_rate: bool = False
) -> list[str]:
    """What may mislead about one direction. ``profile_rtt_ms``: both directions' delay; None for an unknown base."""
    found = [*_jitter(item, base_rtt_ms, keeps_order=changes_rate or item.rate_mbit_s is not None)]
    found += _queue(item, profile_rtt_ms, base_rtt_ms)
    found += _loss(item, profile_rtt_ms, base_rtt_ms)
    found += _others(item, base_rtt_ms)
    return found


def timeline_warnings(timeline: Timeline) -> list[str]:
    """What may mislead about a profile that changes."""
    found = ["timeline: the link changes while a trial runs; the probe before the trials proves the profile at rest."]
    if any(change.loss_pct for step in timeline.steps for change in (step.downlink, step.uplink)):
        found.append("timeline: losses of a step are counted with those of a full queue.")
    return found


def _jitter(item: Impairment, base_rtt_ms: float | None, *, keeps_order: bool) -> Iterator[str]:
    if not item.jitter_ms:
        return
    if keeps_order:
        yield (
            f"jitter_ms {item.jitter_ms:g}: a rate keeps packets in order, so a late one holds back those behind "
            "it and the mean delay under load is above delay_ms."
        )
    else:
        yield (
            f"jitter_ms {item.jitter_ms:g} reorders packets that follow each other more closely, since no rate keeps "
            "them in order; set rate_mbit_s if only the delay should vary."
        )
    total_ms = item.delay_ms + (base_rtt_ms or 0.0) / 2
    reach = 1 if item.jitter_distribution == "uniform" else 3
    if reach * item.jitter_ms > total_ms and (base_rtt_ms is not None or item.jitter_ms > item.delay_ms):
        yield (
            f"jitter_ms {item.jitter_ms:g} reaches below a delay of zero ({total_ms:g} ms one way): what would be "
            "negative is sent at once, so the mean delay is higher than asked."
        )
    if item.jitter_correlation_pct:
        yield "jitter_correlation_pct does next to nothing: netem takes a remainder of the correlated number."


def _queue(item: Impairment, profile_rtt_ms: float, base_rtt_ms: float | None) -> Iterator[str]:
    if item.rate_mbit_s is None:
        return
    if item.queue_bdp is not None and item.queue_bdp < 1:
        yield f"queue_bdp {item.queue_bdp:g} is below one BDP: a single connection may not fill the link."
    if base_rtt_ms is None and profile_rtt_ms == 0:
        return
    rtt_ms = profile_rtt_ms + (base_rtt_ms or 0.0)
    bdp = item.bdp_packets(rtt_ms)
    if item.queue_bdp is not None:
        if base_rtt_ms is not None and item.queue_bdp * bdp < MIN_QUEUE_PACKETS:
            asked = f"queue_bdp {item.queue_bdp:g} would be {item.queue_bdp * bdp:.1f} packets"
            yield f"{asked}; {MIN_QUEUE_PACKETS} are used."
    elif item.queue_packets < bdp:
        yield (
            f"queue_packets {item.queue_packets} is below the BDP of {bdp:.0f} packets at {rtt_ms:g} ms of round "
            "trip: a single connection may not fill the link."
        )


def _loss(item: Impairment, profile_rtt_ms: float, base_rtt_ms: float | None) -> Iterator[str]:
    if base_rtt_ms is not None and item.nominal_loss_pct and profile_rtt_ms + base_rtt_ms < SHORT_RTT_MS:
        yield (
            f"loss hardly shows at {profile_rtt_ms + base_rtt_ms:g} ms of round trip: recovery costs about one round "
            "trip. Use an endpoint with a base RTT."
        )
    for name in ("loss", "reorder", "duplicate", "corrupt"):
        percent, correlation = getattr(item, f"{name}_pct"), getattr(item, f"{name}_correlation_pct")
        if percent and correlation:
            really = correlated_share_pct(percent, correlation)
            model = " For loss in bursts use loss_gemodel." if name == "loss" else ""
            yield (
                f"{name}_correlation_pct {correlation:g}: netem's correlation makes {really:.2g} % of the "
                f"{percent:g} % asked for.{model}"
            )


def _others(item: Impairment, base_rtt_ms: float | None) -> Iterator[str]:
    if item.reorder_pct:
        if item.delay_ms + (base_rtt_ms or 0.0) == 0:
            yield "reorder_pct does nothing where there is no delay to overtake; set delay_ms or use a base RTT."
        if item.rate_mbit_s is not None:
            yield "reorder_pct: packets that overtake skip the queue and are not held to the rate."
    if item.corrupt_pct:
        yield "corrupt_pct acts as loss (checksums fail at the receiver), but the link's counters do not show it."
    if item.slot is not None:
        yield f"slot: packets wait up to {item.slot.longest_ms:g} ms more than delay_ms for their slot."

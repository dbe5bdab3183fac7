"""When a link and its machine count as what they were asked to be. Pure; the limits are ``domain.tolerance``'s."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from lastbyte.domain.link_probe import LinkProbe
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.tolerance import DEFAULT, Tolerances
from lastbyte.domain.trial import DirectionCounters, HostUse, LinkProof
from lastbyte.stats.binomial import at_most, quantile
from lastbyte.stats.link_probe import link_out_of_tolerance

OVERFLOW_LEVEL = 0.999
"""Drops above this quantile of the requested random loss are put down to a full queue."""
PROBE_LOSS_LEVEL = 0.9999
SEPARATOR = "; "


def rtt_out_of_tolerance(
    requested_ms: float, samples_ms: Sequence[float], limits: Tolerances = DEFAULT, spread_ms: float = 0.0
) -> str:
    """Why the round-trip time of a link is not what was requested; empty when it is.

    The median of the samples, in ms, may differ by 1 ms or 2 %, whichever is larger, and by what chance makes of
    ``spread_ms``, the variation that the profile asks for.
    """
    if not samples_ms:
        return "No probe came back through the link before the trials."
    achieved = statistics.median(samples_ms)
    # the median of n round trips that vary by design varies itself, by about 1.25 spreads / sqrt(n)
    by_design = limits.rtt_spreads * 1.25 * spread_ms / math.sqrt(len(samples_ms))
    allowed = max(limits.rtt_ms, limits.rtt_share * requested_ms) + by_design
    if abs(achieved - requested_ms) <= allowed:
        return ""
    return f"RTT was {achieved:.2f} ms where {requested_ms:g} ms ± {allowed:g} ms was requested."


def cell_out_of_tolerance(
    profile: Profile,
    requested_ms: float,
    samples_ms: Sequence[float],
    lost: int,
    link: LinkProbe | None = None,
    limits: Tolerances = DEFAULT,
) -> str:
    """Why the link of a cell can't be believed, from the probes before its trials; empty when it can.

    ``link``: what was found of rate and loss; None where they were not probed.
    """
    wrong = rtt_out_of_tolerance(requested_ms, samples_ms, limits, profile.rtt_spread_ms)
    wrong = wrong or probe_loss_out_of_tolerance(profile, len(samples_ms), lost, limits)
    return wrong or (link_out_of_tolerance(link, limits) if link else "")


def probe_loss_out_of_tolerance(profile: Profile, answered: int, lost: int, limits: Tolerances = DEFAULT) -> str:
    """Why too many probes stayed away for what the profile loses; empty when it explains them."""
    sent = answered + lost
    if sent == 0 or lost == 0:
        return ""
    kept = (1 - profile.downlink.expected_loss_pct / 100) * (1 - profile.uplink.expected_loss_pct / 100)
    in_bursts = not (_independent(profile.downlink) and _independent(profile.uplink))
    # a burst may take all of twenty probes, sent within a tenth of a second
    explained = sent - 1 if in_bursts else quantile(PROBE_LOSS_LEVEL, sent, 1 - kept)
    if lost <= explained + limits.probes_lost:
        return ""
    return f"{lost} of {sent} probes were lost where a link that loses {(1 - kept) * 100:.3g} % was requested."


def outside_gate(
    requested_ms: float, samples_ms: Sequence[float], limits: Tolerances = DEFAULT, spread_ms: float = 0.0
) -> str:
    """Why a cell should wait before its first trial: mean or deviation of the probe over the thresholds.

    Empty when it need not. ``spread_ms`` is the variation that the profile asks for, which is no reason. The idea of
    gating on the mean and the deviation of pings is that of earlier QUIC benchmarks, which threw a whole series away
    when the network was not calm before it.
    """
    wrong = rtt_out_of_tolerance(requested_ms, samples_ms, limits, spread_ms)
    if wrong:
        return wrong
    allowed = max(limits.gate_mean_ms, limits.gate_mean_share * requested_ms) + spread_ms
    mean = statistics.fmean(samples_ms)
    if mean - requested_ms > allowed:
        return f"Mean RTT was {mean:.2f} ms, more than {allowed:g} ms above the requested {requested_ms:g} ms."
    deviation = statistics.pstdev(samples_ms)
    if deviation > limits.gate_deviation_ms + spread_ms:
        return f"RTT deviated by {deviation:.2f} ms, more than {limits.gate_deviation_ms + spread_ms:g} ms."
    return ""


def overflow_packets(counters: DirectionCounters, asked: Impairment, *, changes: bool = False) -> int:
    """Drops that the requested random loss does not explain (see ``DirectionCounters``).

    0 where that can't be told: of bursts and of a link that ``changes`` while the trial runs.
    """
    if counters.dropped_packets == 0 or changes or not _independent(asked):
        return 0
    if asked.loss_pct == 0:
        return counters.dropped_packets
    return max(0, counters.dropped_packets - quantile(OVERFLOW_LEVEL, counters.offered_packets, asked.loss_pct / 100))


def _independent(asked: Impairment) -> bool:
    """True when packets are lost independently of each other, so that counts are binomial; also when none is."""
    return asked.loss_model is None and asked.loss_correlation_pct == 0


def trial_out_of_tolerance(profile: Profile, proof: LinkProof, limits: Tolerances = DEFAULT) -> str:
    """Why a trial can't be believed, all reasons in one line, each ``label: sentence``; empty when it can."""
    reasons = [_rcvbuf(proof, limits)]
    if profile.timeline is None:
        reasons += [
            _loss("downlink", profile.downlink, proof.downlink, limits),
            _loss("uplink", profile.uplink, proof.uplink, limits),
        ]
    if proof.host is not None:
        limited = profile.downlink.rate_mbit_s is not None or profile.uplink.rate_mbit_s is not None
        reasons += [_steal(proof.host, limits), _box(proof.host, limits) if limited else ""]
    return SEPARATOR.join(reason for reason in reasons if reason)


def labels_of(reason: str) -> list[str]:
    """The labels in what ``trial_out_of_tolerance`` gave, to count trials by."""
    return [part.partition(":")[0] for part in reason.split(SEPARATOR) if part]


def _rcvbuf(proof: LinkProof, limits: Tolerances) -> str:
    lost, came = proof.udp_rcvbuf_errors, proof.downlink.sent_packets
    if lost <= limits.rcvbuf_errors_share * came:
        return ""
    return f"UDP buffer: the client's socket lost {lost} of {came} packets"


def _loss(name: str, asked: Impairment, counters: DirectionCounters, limits: Tolerances) -> str:
    if asked.loss_pct == 0 or not _independent(asked):
        return ""
    offered, dropped = counters.offered_packets, counters.dropped_packets
    if at_most(dropped, offered, asked.loss_pct / 100) >= limits.loss_probability:
        return ""
    return f"{name} loss: {dropped} of {offered} packets where {asked.loss_pct:g} % was requested"


def _steal(host: HostUse, limits: Tolerances) -> str:
    if host.steal_share <= limits.steal_share or host.steal_s < limits.steal_least_s:
        return ""
    return f"CPU steal: the hypervisor took {host.steal_share:.1%} of the CPUs' time"


def _box(host: HostUse, limits: Tolerances) -> str:
    share = host.box_cpu_share
    if share is None or host.elapsed_s < limits.box_least_s or share <= limits.box_cpu_share:
        return ""
    return f"box CPU: it used {share:.0%} of one and may not have kept its rate"

"""What a probe of half a second can say about a link's rate and loss, and whether it is what was asked. Pure."""

from __future__ import annotations

from lastbyte.domain.link_probe import DirectionProbe, LinkProbe
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.tolerance import DEFAULT, Tolerances
from lastbyte.stats.binomial import at_most, interval_pct

FASTEST_JUDGED_MBIT_S = 400.0
"""Above this rate a train is over so soon that sending it takes as long as its passage."""
SLOWEST_JUDGED_MBIT_S = 0.2
"""Below this rate a train would take longer than a second."""
LOSS_LEVEL = 0.95


def rate_unjudged(asked: Impairment, profile: Profile) -> str:
    """Why a short train can't tell the rate of this direction; empty when it can."""
    if asked.rate_mbit_s is None:
        return "no rate was requested"
    judged = SLOWEST_JUDGED_MBIT_S <= asked.rate_mbit_s <= FASTEST_JUDGED_MBIT_S
    reasons = (
        (profile.timeline is not None, "the profile changes over time"),
        (asked.jitter_ms > 0, "jitter moves single packets"),
        (asked.slot is not None, "packets leave in batches"),
        (asked.reorder_pct > 0, "packets overtake each other"),
        (asked.duplicate_pct > 0, "packets come twice"),
        (not judged, f"a short train tells {SLOWEST_JUDGED_MBIT_S:g} to {FASTEST_JUDGED_MBIT_S:g} Mbit/s"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def loss_unjudged(asked: Impairment) -> str:
    """Why a count of losses can't be judged as binomial; empty when it can."""
    if asked.loss_model is not None or asked.loss_correlation_pct:
        return "losses come in bursts"
    if asked.corrupt_pct:
        return "corrupt packets are lost too"
    if asked.duplicate_pct:
        return "a second copy makes up for a loss"
    return ""


def loss_interval_pct(probe: DirectionProbe) -> tuple[float, float] | None:
    """95 % binomial interval of the loss found, in percent; None where a count is not binomial. Imports SciPy."""
    return None if probe.loss_unjudged or not probe.sent else interval_pct(probe.lost, probe.sent, LOSS_LEVEL)


def link_out_of_tolerance(probe: LinkProbe, limits: Tolerances = DEFAULT) -> str:
    """Why rate or loss of the link are not what was asked, in a sentence; empty when they are."""
    for name, way in (("downlink", probe.downlink), ("uplink", probe.uplink)):
        wrong = _rate(name, way, limits) or _loss(name, way, limits)
        if wrong:
            return wrong
    return ""


def _rate(name: str, way: DirectionProbe, limits: Tolerances) -> str:
    asked, found = way.rate_requested_mbit_s, way.rate_mbit_s
    if asked is None or way.rate_unjudged:
        return ""
    if found is None:
        return f"Too little of a train came through the {name} to tell its rate."
    if abs(found / asked - 1) <= limits.probe_rate_share:
        return ""
    wanted = f"{asked:g} Mbit/s ± {limits.probe_rate_share:.0%}"
    return f"The {name}'s rate was {found:.3g} Mbit/s where {wanted} was requested."


def _loss(name: str, way: DirectionProbe, limits: Tolerances) -> str:
    if way.loss_unjudged or not way.sent:
        return ""
    share = way.loss_requested_pct / 100
    level = limits.probe_loss_probability
    # P(X >= lost - strays): a datagram or two may be lost to a machine that was busy for a moment
    too_many = 1 - at_most(way.lost - limits.probe_datagrams_lost - 1, way.sent, share) < level
    too_few = at_most(way.lost, way.sent, share) < level
    if not too_many and not too_few:
        return ""
    return f"The {name} lost {way.lost} of {way.sent} probes where {way.loss_requested_pct:.3g} % was requested."

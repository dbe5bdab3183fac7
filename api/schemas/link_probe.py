"""What was found of a link's rate and loss before a cell's trials."""

from __future__ import annotations

from pydantic import Field

from api.schemas.common import Output
from lastbyte.domain.link_probe import DirectionProbe, LinkProbe
from lastbyte.stats.link_probe import loss_interval_pct


class DirectionProbeOut(Output):
    """One direction, requested beside achieved."""

    rate_requested_mbit_s: float | None = Field(description="At layer 2; null: no limit was asked for.")
    rate_achieved_mbit_s: float | None = Field(description="By the spacing of a short train; null: not measured.")
    rate_not_judged: str | None = Field(description="Why the rate is not held against the cell; null: it is judged.")
    loss_requested_pct: float
    loss_achieved_pct: float | None
    loss_low_pct: float | None = Field(description="95 % binomial interval; null where losses are not independent.")
    loss_high_pct: float | None
    datagrams_sent: int
    datagrams_lost: int
    loss_not_judged: str | None = Field(description="Why the loss is not held against the cell; null: it is judged.")

    @classmethod
    def of(cls, way: DirectionProbe) -> DirectionProbeOut:
        """From the domain."""
        low, high = loss_interval_pct(way) or (None, None)
        return cls(
            rate_requested_mbit_s=way.rate_requested_mbit_s,
            rate_achieved_mbit_s=way.rate_mbit_s,
            rate_not_judged=way.rate_unjudged or None,
            loss_requested_pct=way.loss_requested_pct,
            loss_achieved_pct=way.loss_pct,
            loss_low_pct=low,
            loss_high_pct=high,
            datagrams_sent=way.sent,
            datagrams_lost=way.lost,
            loss_not_judged=way.loss_unjudged or None,
        )


class LinkProbeOut(Output):
    """Both directions, probed at once."""

    downlink: DirectionProbeOut
    uplink: DirectionProbeOut
    elapsed_ms: float
    repeats: int = Field(description="How often the probe was repeated because it was out of tolerance.")

    @classmethod
    def of(cls, probe: LinkProbe) -> LinkProbeOut:
        """From the domain."""
        return cls(
            downlink=DirectionProbeOut.of(probe.downlink),
            uplink=DirectionProbeOut.of(probe.uplink),
            elapsed_ms=probe.elapsed_s * 1000,
            repeats=probe.repeats,
        )

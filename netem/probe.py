"""Proving a path: RTT, rate and loss through it, requested beside achieved."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from lastbyte.domain.profile import ETHERNET_MTU_FRAME_BYTES, Impairment, Profile
from lastbyte.stats.binomial import interval_pct
from netem import tc
from netem.path import ShapedPath
from netem.traffic import Arrivals, End, loss_pace, stream

RTT_TOLERANCE_MS = 1.0
RATE_TOLERANCE = 0.05
LOSS_SLACK_PCT = 0.05
"""A stray packet in two thousand on a link that should lose none is no verdict on the shaping."""
LOSS_TOLERANCE_CONFIDENCE = 0.999
"""A correct link leaves a 95 % interval one time in twenty; the tolerance uses a wider one."""

_RTT_SAMPLES = 200
_RTT_SECONDS = 1.5
_RATE_SECONDS = 2.0
_LOSS_PACKETS = 12_000
_CLEAR_PACKETS = 2_000
_LOSS_SECONDS = 20.0
"""Longest time spent on counting losses per direction; a slow link is asked fewer packets."""
_SMALL_PAYLOAD_BYTES = 22

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RttReport:
    """Round trips through the box, in milliseconds."""

    requested: float
    median: float | None
    p5: float | None
    p95: float | None
    samples: int
    lost: int
    spread: float = 0.0
    """By how much round trips vary by design (jitter, slots, overtaking)."""

    @property
    def within_tolerance(self) -> bool:
        """Median within 1 ms of what was asked, or within what the profile makes it vary by itself."""
        return self.median is not None and abs(self.median - self.requested) <= RTT_TOLERANCE_MS + self.spread


@dataclass(frozen=True, slots=True)
class RateReport:
    """One direction's rate at layer 2, in Mbit/s."""

    requested: float | None
    achieved: float
    offered: float
    """What was sent; a rate can only be proved by sending more than it."""

    @property
    def within_tolerance(self) -> bool:
        """Within 5 % of what was asked; an unlimited rate always is."""
        return self.requested is None or abs(self.achieved / self.requested - 1) <= RATE_TOLERANCE


@dataclass(frozen=True, slots=True)
class LossReport:
    """One direction's loss."""

    requested: float
    """In percent."""
    sent: int
    lost: int
    burst_factor: float = 1.0
    """How much wider than a binomial count this one scatters; losses in bursts say less than as many single ones."""

    @property
    def achieved(self) -> float:
        """In percent."""
        return 100 * self.lost / self.sent if self.sent else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval in percent (Clopper and Pearson 1934), of as many independent packets as bursts leave."""
        return self._interval(0.95)

    @property
    def within_tolerance(self) -> bool:
        """What was asked lies within the 99.9 % interval, or within 0.05 percentage points."""
        low, high = self._interval(LOSS_TOLERANCE_CONFIDENCE)
        return low <= self.requested <= high or abs(self.achieved - self.requested) <= LOSS_SLACK_PCT

    def _interval(self, confidence: float) -> tuple[float, float]:
        return interval_pct(self.lost / self.burst_factor, self.sent / self.burst_factor, confidence)


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a path was asked to be and what it is."""

    profile: str
    box: str
    box_version: str
    base_rtt_ms: float
    rtt: RttReport
    downlink_rate: RateReport
    uplink_rate: RateReport
    downlink_loss: LossReport
    uplink_loss: LossReport
    elapsed_s: float
    warnings: tuple[str, ...] = ()
    """What may mislead about the profile at this distance."""
    seed_supported: bool = False
    """Whether the box's random numbers can be fixed."""

    @property
    def loss(self) -> LossReport:
        """Both directions together when they were asked the same, else the direction that was asked more."""
        down, up = self.downlink_loss, self.uplink_loss
        if down.requested == up.requested:
            factor = max(down.burst_factor, up.burst_factor)
            return LossReport(down.requested, down.sent + up.sent, down.lost + up.lost, factor)
        return max(down, up, key=lambda report: report.requested)

    @property
    def within_tolerance(self) -> bool:
        """Every measure of both directions is."""
        parts = (self.rtt, self.downlink_rate, self.uplink_rate, self.downlink_loss, self.uplink_loss)
        return all(part.within_tolerance for part in parts)

    def to_json(self) -> dict[str, object]:
        """The report as plain values."""
        rtt = self.rtt
        return {
            "profile": self.profile,
            "box": self.box,
            "box_version": self.box_version,
            "base_rtt_ms": self.base_rtt_ms,
            "rtt_ms": {
                "requested": rtt.requested,
                "achieved": _rounded(rtt.median),
                "p5": _rounded(rtt.p5),
                "p95": _rounded(rtt.p95),
                "samples": rtt.samples,
                "lost": rtt.lost,
                "within_tolerance": rtt.within_tolerance,
            },
            "rate_mbit_s": {
                **_rate_json(self.downlink_rate),
                "layer": "2 (frame with Ethernet header, as netem counts)",
                "downlink": _rate_json(self.downlink_rate),
                "uplink": _rate_json(self.uplink_rate),
            },
            "loss_pct": {
                **_loss_json(self.loss),
                "downlink": _loss_json(self.downlink_loss),
                "uplink": _loss_json(self.uplink_loss),
            },
            "within_tolerance": self.within_tolerance,
            "warnings": list(self.warnings),
            "seed_supported": self.seed_supported,
            "elapsed_s": round(self.elapsed_s, 3),
        }


def probe(
    path: ShapedPath, profile: Profile, base_rtt_ms: float = 0.0, progress: Progress = lambda _text: None
) -> ProbeReport:
    """Configure the path and measure it, in about ten seconds; raises PathLost.

    RTT by echo requests between client and uplink. Loss by small UDP packets, at a pace far from filling the queue.
    Rate by full-sized UDP packets sent faster than the link takes, timed where they arrive. One direction at a time.
    """
    start = time.perf_counter()
    path.configure(profile, base_rtt_ms)
    progress("round trips")
    rtt = replace(_measure_rtt(path), spread=profile.rtt_spread_ms)
    profile = profile.with_queues(base_rtt_ms)
    link = path.addresses.access
    client, uplink = End(path.client, link.near), End(path.uplink, link.far)
    ways = {
        "downlink": (uplink, client, profile.downlink),
        "uplink": (client, uplink, profile.uplink),
    }
    losses: dict[str, LossReport] = {}
    rates: dict[str, RateReport] = {}
    for name, (source, sink, impairment) in ways.items():
        progress(f"{name} loss")
        losses[name] = measure_loss(path, source, sink, impairment, base_rtt_ms)
    for name, (source, sink, impairment) in ways.items():
        progress(f"{name} rate")
        rates[name] = measure_rate(path, source, sink, impairment, base_rtt_ms)
    return ProbeReport(
        profile=profile.name,
        box=path.box_kind,
        box_version=path.box_version,
        base_rtt_ms=base_rtt_ms,
        rtt=rtt,
        downlink_rate=rates["downlink"],
        uplink_rate=rates["uplink"],
        downlink_loss=losses["downlink"],
        uplink_loss=losses["uplink"],
        elapsed_s=time.perf_counter() - start,
        warnings=profile.warnings(base_rtt_ms),
        seed_supported=path.seed_supported,
    )


def _measure_rtt(path: ShapedPath) -> RttReport:
    result = path.probe_rtt(_RTT_SAMPLES, _RTT_SECONDS / _RTT_SAMPLES)
    if not result.samples_ms:
        return RttReport(result.requested_ms, None, None, None, 0, result.lost)
    if len(result.samples_ms) == 1:
        return RttReport(result.requested_ms, *(result.samples_ms * 3), 1, result.lost)
    ventiles = statistics.quantiles(result.samples_ms, n=20, method="inclusive")
    p5, median, p95 = ventiles[0], ventiles[9], ventiles[18]
    return RttReport(result.requested_ms, median, p5, p95, len(result.samples_ms), result.lost)


def measure_loss(
    path: ShapedPath, source: End, sink: End, impairment: Impairment, base_rtt_ms: float = 0.0
) -> LossReport:
    """Lost packets of one direction."""
    delay_ms = tc.longest_delay_ms(impairment, base_rtt_ms / 2)
    packets_s = loss_pace(impairment, delay_ms, _SMALL_PAYLOAD_BYTES)
    wanted = _LOSS_PACKETS if impairment.expected_loss_pct else _CLEAR_PACKETS
    arrivals = stream(
        source,
        sink,
        payload_bytes=_SMALL_PAYLOAD_BYTES,
        packets_s=packets_s,
        burst_packets=max(1, min(32, impairment.queue_packets // 4)),
        count=max(1, min(wanted, int(packets_s * _LOSS_SECONDS))),
        quiet_s=0.2 + 2 * delay_ms / 1e3,
        is_alive=path.is_alive,
    )
    # A duplicate makes up for a packet that was lost: what arrives at most is what was sent.
    lost = max(0, arrivals.lost)
    return LossReport(impairment.expected_loss_pct, arrivals.sent, lost, impairment.loss_burst_factor)


def measure_rate(
    path: ShapedPath, source: End, sink: End, impairment: Impairment, base_rtt_ms: float = 0.0
) -> RateReport:
    """Rate of one direction, by overfilling it."""
    pace = None
    quiet_s = 0.3 + 2 * tc.longest_delay_ms(impairment, base_rtt_ms / 2) / 1e3
    if impairment.rate_mbit_s is not None:
        packets_s = impairment.rate_mbit_s * 1e6 / (8 * ETHERNET_MTU_FRAME_BYTES)
        pace = 1.3 * packets_s / max(0.01, 1 - impairment.expected_loss_pct / 100)
        quiet_s += 2 / packets_s
    arrivals: Arrivals = stream(
        source,
        sink,
        payload_bytes=ETHERNET_MTU_FRAME_BYTES - 14 - (20 if sink.address.version == 4 else 40) - 8,
        packets_s=pace,
        burst_packets=1 if pace is None else max(1, round(pace / 5)),
        duration_s=_RATE_SECONDS,
        quiet_s=quiet_s,
        is_alive=path.is_alive,
    )
    return RateReport(impairment.rate_mbit_s, arrivals.rate_mbit_s, arrivals.offered_mbit_s)


def _rate_json(report: RateReport) -> dict[str, object]:
    return {
        "requested": report.requested,
        "achieved": _rounded(report.achieved),
        "offered": _rounded(report.offered),
        "within_tolerance": report.within_tolerance,
    }


def _loss_json(report: LossReport) -> dict[str, object]:
    return {
        "requested": report.requested,
        "achieved": _rounded(report.achieved),
        "interval": [_rounded(value) for value in report.interval],
        "sent": report.sent,
        "lost": report.lost,
        "within_tolerance": report.within_tolerance,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

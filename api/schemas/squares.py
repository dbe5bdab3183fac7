"""Squares of heatmaps as JSON."""

from __future__ import annotations

import math
from typing import Any

from pydantic import Field

from api.schemas.common import Output
from api.schemas.link_probe import LinkProbeOut
from api.schemas.places import PlacedOut, place_fields
from lastbyte.ports import CellProof
from lastbyte.services.squares import ArmSummary, HeatmapCell
from lastbyte.stats.paired import Verdict
from lastbyte.stats.papermodes import PaperCell
from lastbyte.stats.percentiles import Percentile
from lastbyte.stats.phases import Decomposition, PhaseDifference


class PercentileOut(Output):
    """One percentile of TTLB with its interval."""

    percent: float
    n: int = Field(description="Trials that succeeded or timed out.")
    value_ms: float | None = Field(description="Null without trials, and where time-outs reach it.")
    ci_low_ms: float | None = Field(description="Null where there are too few trials for an end on this side.")
    ci_high_ms: float | None

    @classmethod
    def of(cls, item: Percentile) -> PercentileOut:
        """From the statistics, in seconds."""
        return cls(
            percent=item.percent,
            n=item.n,
            value_ms=_milliseconds(item.value),
            ci_low_ms=_milliseconds(item.ci_low),
            ci_high_ms=_milliseconds(item.ci_high),
        )


class PhaseOut(Output):
    """One phase, or the total; negative differences: the candidate is faster."""

    phase: str = Field(description="handshake, wait (for the first byte), transfer, or total.")
    baseline_ms: float = Field(description="Median.")
    candidate_ms: float = Field(description="Median.")
    diff_ms: float = Field(description="Median of the paired differences.")
    ci_low_ms: float
    ci_high_ms: float
    diff_pct: float | None = Field(description="Median of the paired ratios as a percentage of the phase itself.")
    of_total_pct: float | None = Field(
        description="diff_ms in percent of the total's; null where that can't be told from zero."
    )

    @classmethod
    def of(cls, item: PhaseDifference) -> PhaseOut:
        """From the statistics."""
        return cls(
            phase=item.phase,
            baseline_ms=item.baseline_ms,
            candidate_ms=item.candidate_ms,
            diff_ms=item.diff_ms,
            ci_low_ms=item.ci_low_ms,
            ci_high_ms=item.ci_high_ms,
            diff_pct=_finite(item.diff_pct),
            of_total_pct=_finite(item.of_total_pct),
        )


class PhasesOut(Output):
    """Which phase of a fetch explains the difference."""

    n: int = Field(description="Rounds in which both clients succeeded and reported every phase.")
    confidence: float = Field(description="The level that the intervals can claim with n rounds.")
    total: PhaseOut
    phases: list[PhaseOut] = Field(description="handshake, wait, transfer.")
    residual_ms: float = Field(description="The total's diff_ms less the sum of the phases': medians do not add up.")
    explains: str | None = Field(
        description="The phase with the largest difference in the direction of the total, where both are certain and "
        "it is more than the residual."
    )

    @classmethod
    def of(cls, found: Decomposition) -> PhasesOut:
        """From the statistics."""
        return cls(
            n=found.n,
            confidence=found.confidence,
            total=PhaseOut.of(found.total),
            phases=[PhaseOut.of(item) for item in found.phases],
            residual_ms=found.residual_ms,
            explains=found.explains,
        )


class PaperOut(Output):
    """The square of a paper mode: best H3 client against best H2 client of the cell."""

    value_pct: float | None = Field(description="Null where a side has no successful trial.")
    label: str | None = Field(description="What is printed in the square; null: nothing.")
    h2_client: str | None = Field(description="The one that stands for its side.")
    h3_client: str | None
    p_value: float | None = Field(description="Of Welch's t-test; null in yu2021, and where the test is undefined.")
    limits_pct: tuple[float, float] = Field(description="Ends of the blue-white-red colour scale.")

    @classmethod
    def of(cls, item: PaperCell) -> PaperOut:
        """From the statistics."""
        return cls(
            value_pct=_finite(item.value_pct),
            label=item.label,
            h2_client=item.h2_client,
            h3_client=item.h3_client,
            p_value=item.p_value,
            limits_pct=item.limits_pct,
        )


class ArmOut(Output):
    """One client in one cell, over the counted rounds."""

    n: int = Field(description="Successful trials, those left out not counted.")
    failures: int
    median_ttlb_ms: float | None
    failure_kinds: dict[str, int]
    failure_rate: float | None = Field(description="Failed trials among all, 0 to 1; null without trials.")
    timed_out: int = Field(description="Trials that enter the percentiles as time-outs.")
    percentiles: list[PercentileOut] = Field(
        description="p50, p90 and p99 of TTLB; a time-out counts as longer than every success."
    )

    @classmethod
    def of(cls, arm: ArmSummary) -> ArmOut:
        """From the domain."""
        return cls(
            n=arm.n,
            failures=arm.failures,
            median_ttlb_ms=arm.median_ttlb_ms,
            failure_kinds=dict(arm.failure_kinds),
            failure_rate=arm.failure_rate,
            timed_out=arm.timed_out,
            percentiles=[PercentileOut.of(item) for item in arm.percentiles],
        )


class CellProofOut(Output):
    """What the link of a cell was before its first trial."""

    box_kind: str
    address: str = Field(description="Address that every client connected to.")
    resolution_ms: float = Field(description="Time that name resolution took; never part of TTLB.")
    rtt_requested_ms: float
    rtt_achieved_ms: float | None = Field(description="Median of the probes.")
    rtt_min_ms: float | None
    rtt_max_ms: float | None
    probes_sent: int
    probes_lost: int
    gate_waits: int = Field(description="How often the cell waited for the link to calm down before its trials.")
    gate_calm: bool = Field(description="False: it was still not calm after the last wait.")
    link: LinkProbeOut | None = Field(description="Rate and loss found; null for cells from before this was probed.")
    machine: dict[str, Any] = Field(description="Record of the machine and the path.")
    commands: dict[str, list[str]] = Field(description="The exact command of each client.")


class ComparisonOut(Output):
    """Two clients compared."""

    n: int = Field(description="Rounds in which both clients succeeded or timed out.")
    diff_pct: float | None = Field(
        description="Median of the paired log ratios as a percentage; negative: the candidate is faster."
    )
    ci_low_pct: float | None
    ci_high_pct: float | None
    verdict: Verdict
    baseline: ArmOut
    candidate: ArmOut
    proof: CellProofOut | None
    unproven_reason: str | None
    timed_out: int = Field(
        description="Rounds among n in which a client timed out: its time counts as at least the limit."
    )
    at_least_pct: float | None = Field(description="Where time-outs leave diff_pct open: it is no less than this.")
    at_most_pct: float | None = Field(description="Where time-outs leave diff_pct open: it is no more than this.")
    left_out: int = Field(description="Successful trials of the two clients that are kept out of the comparison.")
    left_out_reasons: dict[str, int] = Field(description="Why, with how many each.")
    aa_floor_pct: float | None = Field(
        description="By how much a client seems to differ from itself here; null without an A/A arm."
    )
    aa_biased: bool = Field(description="The A/A comparison leaves out zero: the measurement prefers an arm.")
    below_floor: bool = Field(description="The difference is no larger than the A/A floor.")
    near_ceiling: list[str] = Field(
        description="Clients whose rate is within a factor of two of the most they can do on that machine."
    )
    confidence: float = Field(description="The level that the interval can claim with n rounds.")
    p_value: float | None = Field(
        description="Wilcoxon signed-rank test; with time-outs the largest p that they allow. Null below six rounds."
    )
    q_value: float | None = Field(
        description="p_value corrected over the cells of this heatmap (Benjamini-Hochberg); null if unproven."
    )
    spread_p: float | None = Field(
        description="Kolmogorov-Smirnov test of the clients, each divided by its median: does one vary more?"
    )
    bodies: dict[str, int] = Field(description="By client: how many different bodies it got, by their SHA-256.")
    bodies_differ: bool = Field(description="The clients did not get the same bodies; no failure of itself.")
    tls: dict[str, list[str]] = Field(
        description="By client: TLS version, cipher and key exchange group of its handshakes; `?` is not known."
    )
    phases: PhasesOut | None = Field(description="Null below two rounds in which both clients reported every phase.")
    paper: PaperOut | None = Field(description="With mode=yu2020 or yu2021; else null.")


class CellOut(PlacedOut, ComparisonOut):
    """One square."""

    @classmethod
    def of(cls, item: HeatmapCell) -> CellOut:
        """From the domain."""
        return cls(**place_fields(item.cell), **comparison_fields(item))


def comparison_fields(item: HeatmapCell) -> dict[str, Any]:
    """The fields of `ComparisonOut`."""
    comparison = ComparisonOut(
        n=item.n,
        diff_pct=item.diff_pct,
        ci_low_pct=item.ci_low_pct,
        ci_high_pct=item.ci_high_pct,
        verdict=item.verdict,
        baseline=ArmOut.of(item.baseline),
        candidate=ArmOut.of(item.candidate),
        proof=proof_out(item.cell.proof, item.rtt_achieved_ms),
        unproven_reason=item.unproven_reason,
        timed_out=item.timed_out,
        at_least_pct=_finite(item.at_least_pct),
        at_most_pct=_finite(item.at_most_pct),
        left_out=item.left_out,
        left_out_reasons=dict(item.left_out_reasons),
        aa_floor_pct=_finite(item.aa_floor_pct),
        aa_biased=item.aa_biased,
        below_floor=item.below_floor,
        near_ceiling=list(item.near_ceiling),
        confidence=item.confidence,
        p_value=item.p_value,
        q_value=item.q_value,
        spread_p=item.spread_p,
        bodies=dict(item.sameness.bodies),
        bodies_differ=item.sameness.bodies_differ,
        tls={client: list(lines) for client, lines in item.sameness.tls.items()},
        phases=PhasesOut.of(item.phases) if item.phases else None,
        paper=PaperOut.of(item.paper) if item.paper else None,
    )
    return {name: getattr(comparison, name) for name in ComparisonOut.model_fields}


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def proof_out(proof: CellProof | None, rtt_achieved_ms: float | None) -> CellProofOut | None:
    """The proof of a cell, if it has one."""
    if proof is None:
        return None
    samples_ms = proof.rtt.samples_ms
    return CellProofOut(
        box_kind=proof.box_kind,
        address=proof.address,
        resolution_ms=proof.resolution_s * 1000,
        rtt_requested_ms=proof.rtt.requested_ms,
        rtt_achieved_ms=rtt_achieved_ms,
        rtt_min_ms=min(samples_ms, default=None),
        rtt_max_ms=max(samples_ms, default=None),
        probes_sent=len(samples_ms) + proof.rtt.lost,
        probes_lost=proof.rtt.lost,
        gate_waits=proof.rtt.waits,
        gate_calm=proof.rtt.calm,
        link=LinkProbeOut.of(proof.link) if proof.link else None,
        machine=dict(proof.machine),
        commands={client: list(argv) for client, argv in proof.commands.items()},
    )

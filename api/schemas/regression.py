"""Comparisons of campaigns as JSON."""

from __future__ import annotations

from statistics import median
from typing import Literal
from uuid import UUID

from pydantic import Field

from api.schemas.common import Input, Output
from api.schemas.pool import PooledCampaignOut
from lastbyte.services.regression import NOTE, CampaignComparison, ComparedArm
from lastbyte.stats.regression import Judgement, Sample

EXIT_CODES: dict[Judgement, Literal[0, 1, 2]] = {Judgement.PASS: 0, Judgement.FAIL: 1, Judgement.INCONCLUSIVE: 2}


class CompareQuery(Input):
    """Which campaigns, and how much slower is still no fault."""

    baseline: UUID = Field(description="The campaign to compare with.")
    candidate: UUID = Field(description="The campaign that is judged.")
    tolerance_pct: float = Field(default=5, ge=0, le=1000, description="Slower by up to this much passes.")
    confidence: float = Field(default=0.95, ge=0.5, le=0.999, description="Level of the intervals.")


class SampleOut(Output):
    """One client of one cell in one campaign."""

    n: int = Field(description="Successful trials that count.")
    failures: int
    timed_out: int
    median_ttlb_ms: float | None

    @classmethod
    def of(cls, sample: Sample) -> SampleOut:
        """From the statistics, in seconds."""
        times = sample.ttlb_s
        return cls(
            n=len(times),
            failures=sample.failures,
            timed_out=sample.timed_out,
            median_ttlb_ms=median(times) * 1000 if times else None,
        )


class ComparedArmOut(Output):
    """One client of one cell in both campaigns."""

    endpoint: str
    profile: str
    client: str
    verdict: Judgement
    reason: str
    diff_pct: float | None = Field(description="Hodges-Lehmann; above zero: the candidate is slower.")
    ci_low_pct: float | None
    ci_high_pct: float | None
    p_slower: float | None = Field(description="Mann-Whitney beyond the tolerance, one-sided, corrected by Holm.")
    p_failures: float | None = Field(description="Fisher's exact test of the failures, one-sided, corrected by Holm.")
    baseline: SampleOut
    candidate: SampleOut

    @classmethod
    def of(cls, arm: ComparedArm) -> ComparedArmOut:
        """From the use case."""
        item = arm.item
        return cls(
            endpoint=arm.endpoint_id,
            profile=arm.profile_name,
            client=arm.client_id,
            verdict=item.judgement,
            reason=item.reason,
            diff_pct=item.shift.diff_pct,
            ci_low_pct=item.shift.ci_low_pct,
            ci_high_pct=item.shift.ci_high_pct,
            p_slower=item.p_slower,
            p_failures=item.p_failures,
            baseline=SampleOut.of(arm.baseline),
            candidate=SampleOut.of(arm.candidate),
        )


class CompareOut(Output):
    """Has something become slower from one campaign to another?"""

    verdict: Judgement = Field(description="fail if one item fails, pass if all pass, else inconclusive.")
    exit_code: Literal[0, 1, 2] = Field(description="0 pass, 1 fail, 2 inconclusive.")
    counts: dict[Judgement, int]
    tolerance_pct: float
    confidence: float
    note: str = Field(description="What no interval can know.")
    baseline: PooledCampaignOut
    candidate: PooledCampaignOut
    items: list[ComparedArmOut] = Field(description="Every client of every cell.")

    @classmethod
    def of(cls, found: CampaignComparison) -> CompareOut:
        """From the use case."""
        judged = [arm.item.judgement for arm in found.arms]
        return cls(
            verdict=found.judgement,
            exit_code=EXIT_CODES[found.judgement],
            counts={judgement: judged.count(judgement) for judgement in Judgement},
            tolerance_pct=found.tolerance_pct,
            confidence=found.confidence,
            note=NOTE,
            baseline=PooledCampaignOut.of(found.baseline),
            candidate=PooledCampaignOut.of(found.candidate),
            items=[ComparedArmOut.of(arm) for arm in found.arms],
        )

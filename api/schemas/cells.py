"""Cells as JSON: in lists, and one in full."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.catalogue import ProfileOut
from api.schemas.common import EndpointName, Input, Name, Output, PageQuery, Timestamp
from api.schemas.places import PlacedOut, place_fields
from api.schemas.squares import ArmOut, CellOut, CellProofOut, proof_out
from api.schemas.trials import TrialOut
from api.tc_preview import TcOut, tc_out
from lastbyte.domain.campaign import CellState
from lastbyte.ports import CellFilter, CellStatus
from lastbyte.services.cells import ArmDetail, CellDetail, RoundDetail
from lastbyte.services.squares import rtt_achieved_ms, why_unproven


class CellQuery(PageQuery):
    """Which cells of a campaign."""

    endpoint: EndpointName | None = Field(default=None, description="Only cells of this endpoint.")
    provider: Name | None = Field(default=None, description="Only cells of this provider.")
    profile: Name | None = Field(default=None, description="Only cells under this profile.")
    state: CellState | None = Field(default=None, description="Only cells in this state.")

    def to_filter(self) -> CellFilter:
        """For the store."""
        return CellFilter(self.endpoint, self.provider, self.profile, self.state)


class ArmsQuery(Input):
    """Which two clients are compared."""

    baseline: Name | None = Field(default=None, description="Default: the campaign's first H2 client.")
    candidate: Name | None = Field(default=None, description="Default: the campaign's first H3 client.")


class CellStatusOut(PlacedOut):
    """A cell and how far it is."""

    campaign_id: str
    provider: str
    origin: Literal["production", "testbed"]
    url: str
    base_rtt_ms: float
    vantage: str
    trials_planned: int = Field(description="At most, the warm-up round included.")
    trials_done: int
    trials_failed: int
    rounds_saved: int = Field(description="Rounds that it did not need.")
    waiting_for: str | None = Field(description="Why nobody measures it now, where it must wait.")
    busy_s: float = Field(description="Time that workers have spent on it.")
    started_at: Timestamp | None
    finished_at: Timestamp | None
    box_kind: str | None = Field(description="kernel or uml; null until it was measured.")
    rtt_requested_ms: float | None
    rtt_achieved_ms: float | None
    unproven_reason: str | None = Field(
        description="Why its link can't be believed; null when it can, or not yet known."
    )

    @classmethod
    def of(cls, found: CellStatus) -> CellStatusOut:
        """From the store."""
        record = found.record
        endpoint, proof = record.endpoint, record.proof
        return cls(
            **place_fields(record),
            campaign_id=found.campaign_id,
            provider=endpoint.provider,
            origin=endpoint.origin.value,
            url=endpoint.url,
            base_rtt_ms=endpoint.base_rtt_ms,
            vantage=found.vantage,
            trials_planned=found.trials_planned,
            trials_done=found.trials_done,
            trials_failed=found.trials_failed,
            rounds_saved=found.rounds_saved,
            waiting_for=found.waiting_for,
            busy_s=found.busy_s,
            started_at=found.started_at,
            finished_at=found.finished_at,
            box_kind=proof.box_kind if proof else None,
            rtt_requested_ms=proof.rtt.requested_ms if proof else None,
            rtt_achieved_ms=rtt_achieved_ms(proof),
            unproven_reason=why_unproven(proof, record.profile) if found.trials_done else None,
        )


class CellBuildOut(Output):
    """The exact program that ran as a client of the cell."""

    program: str
    path: str
    version_text: str
    sha256: str


class EcdfPointOut(Output):
    """A step of an empirical distribution."""

    ttlb_ms: float
    share: float = Field(description="Of the counted trials, those that were done by then; 0 to 1.")


class ArmDetailOut(Output):
    """One client of the cell, over the counted rounds."""

    client: str
    summary: ArmOut
    ecdf: list[EcdfPointOut] = Field(
        description="Distribution of TTLB. A trial that timed out counts in the shares and has no point."
    )

    @classmethod
    def of(cls, arm: ArmDetail) -> ArmDetailOut:
        """From the use case."""
        return cls(
            client=arm.client_id,
            summary=ArmOut.of(arm.summary),
            ecdf=[EcdfPointOut(ttlb_ms=time_s * 1000, share=share) for time_s, share in arm.ecdf],
        )


class RoundOut(Output):
    """One round, its trials in the order in which they ran."""

    round: int = Field(description="0 is the warm-up round.")
    order: list[str] = Field(description="Clients in the order in which they ran.")
    diff_pct: float | None = Field(
        description="Candidate against baseline in this round; null unless both succeeded and count."
    )
    trials: list[TrialOut]

    @classmethod
    def of(cls, found: RoundDetail) -> RoundOut:
        """From the use case."""
        return cls(
            round=found.index,
            order=[record.trial.client_id for record in found.trials],
            diff_pct=found.diff_pct,
            trials=[TrialOut.of(record) for record in found.trials],
        )


class CellDetailOut(Output):
    """All that is known of a cell."""

    cell: CellStatusOut
    seed: int = Field(description="Seed of the campaign, from which the order of clients in each round comes.")
    baseline: str | None
    candidate: str | None
    comparison: CellOut | None = Field(
        description="The cell's square as in the heatmap, without q_value; null where there are no two clients."
    )
    profile: ProfileOut = Field(description="The network condition as it was when the campaign was planned.")
    proof: CellProofOut | None
    builds: dict[str, CellBuildOut] = Field(description="Exact program per client.")
    tc: TcOut = Field(description="What tc was told for this cell.")
    arms: list[ArmDetailOut]
    rounds: list[RoundOut]

    @classmethod
    def of(cls, found: CellDetail) -> CellDetailOut:
        """From the use case."""
        status, record = found.status, found.status.record
        return cls(
            cell=CellStatusOut.of(status),
            seed=found.seed,
            baseline=found.baseline,
            candidate=found.candidate,
            comparison=CellOut.of(found.comparison) if found.comparison else None,
            profile=ProfileOut.of(record.profile),
            proof=proof_out(record.proof, rtt_achieved_ms(record.proof)),
            builds={
                client: CellBuildOut(
                    program=build.program, path=build.path, version_text=build.version_text, sha256=build.sha256
                )
                for client, build in status.builds.items()
            },
            tc=tc_out(record.profile, record.endpoint.base_rtt_ms),
            arms=[ArmDetailOut.of(arm) for arm in found.arms],
            rounds=[RoundOut.of(item) for item in found.rounds],
        )

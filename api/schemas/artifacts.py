"""Artifacts of watched trials, and what their clients acknowledged, as JSON."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import Field

from api.schemas.common import Input, Output, PageQuery, Timestamp
from lastbyte.domain.acks import TraceProblem
from lastbyte.domain.capture import ArtifactKind
from lastbyte.ports import ArtifactFilter, ArtifactRecord
from lastbyte.services.acks import TrialAcks


class ArtifactQuery(PageQuery):
    """Which artifacts of a campaign."""

    cell: int | None = Field(default=None, ge=0, lt=2**63, description="Only those of this cell.")
    trial: int | None = Field(default=None, ge=0, lt=2**63, description="Only those of this trial.")

    def to_filter(self, campaign_id: str) -> ArtifactFilter:
        """For the store."""
        return ArtifactFilter(campaign_id, self.cell, self.trial)


class DownloadQuery(Input):
    """How a file is given out."""

    compressed: bool = Field(default=False, description="As it is kept (gzip), the bytes that `sha256` is of.")


class AcksQuery(Input):
    """What counts as a stall."""

    stall_ms: float | None = Field(default=None, gt=0, le=60_000, description="Null: 1.5 round trips, at least 10 ms.")


class ArtifactOut(Output):
    """A file that a watched trial left, or why it is not kept."""

    id: int
    trial_id: int
    cell_id: int
    endpoint: str
    profile: str
    client: str
    round: int
    vantage: str = Field(description="Where it was measured; the file is on that vantage's disk.")
    kind: ArtifactKind
    file_name: str
    media_type: str
    bytes: int = Field(description="Once decompressed.")
    compressed_bytes: int
    sha256: str = Field(description="Of the compressed bytes; empty when they were dropped.")
    dropped_reason: str | None = Field(description="Why the bytes are not kept; null when they are.")
    created_at: Timestamp
    download: str | None = Field(description="Where the file is; null when it was dropped.")

    @classmethod
    def of(cls, record: ArtifactRecord) -> ArtifactOut:
        """From the domain."""
        artifact = record.artifact
        return cls(
            id=record.id,
            trial_id=record.trial_id,
            cell_id=record.cell_id,
            endpoint=record.endpoint_id,
            profile=record.profile_name,
            client=record.client_id,
            round=record.round_index,
            vantage=record.vantage,
            kind=artifact.kind,
            file_name=artifact.file_name,
            media_type=artifact.kind.media_type,
            bytes=artifact.raw_bytes,
            compressed_bytes=artifact.byte_size,
            sha256=artifact.sha256,
            dropped_reason=artifact.dropped_reason or None,
            created_at=record.created_at,
            download=None if artifact.dropped_reason else f"/api/v1/artifacts/{record.id}",
        )


class TraceProblemOut(Output):
    """Why a trial's acknowledgements can't be told."""

    kind: TraceProblem
    detail: str


class StallOut(Output):
    """A while in which nothing new was acknowledged."""

    start_ms: float
    end_ms: float
    acked_bytes: int


class AckFiguresOut(Output):
    """Numbers beside the plot; how each is made is told in docs/acks.md."""

    acks: int
    acked_bytes: int
    bytes_per_ack: float
    last_ms: float = Field(description="First packet to the acknowledgement of the last new bytes.")
    goodput_mbit_s: float | None
    slope_mbit_s: float | None = Field(description="Rate from 25 % to 95 % of the bytes.")
    wire_slope_mbit_s: float | None = Field(description="The same with all headers.")
    slow_start_exit_ms: float | None
    stall_threshold_ms: float
    stalled_ms: float
    stalls: list[StallOut]
    retransmitted_bytes: int


class PieceOut(Output):
    """Data that was sent again."""

    at_ms: float
    byte_count: int


class AckTraceOut(Output):
    """Acknowledged bytes over time: item n of both lists is one acknowledgement that the client sent."""

    transport: str
    source: str = Field(examples=["pcap", "qlog 0.3"])
    at_ms: list[float] = Field(description="From the first packet.")
    acked_bytes: list[int]
    rtt_ms: float | None
    received_bytes: int
    duplicate_bytes: int
    wire_bytes: int | None
    retransmitted: list[PieceOut]
    note: str


class TrialAcksOut(Output):
    """What the client of a watched trial acknowledged, or why that can't be told."""

    trial_id: int
    cell_id: int
    client: str
    protocol: str
    round: int
    outcome: str
    ttlb_ms: float | None
    unproven_reason: str | None
    trace: AckTraceOut | None
    figures: AckFiguresOut | None
    problem: TraceProblemOut | None
    artifacts: list[ArtifactOut]

    @classmethod
    def of(cls, acks: TrialAcks) -> TrialAcksOut:
        """From the domain."""
        trial, trace, problem = acks.trial, acks.trace, acks.problem
        return cls(
            trial_id=trial.id,
            cell_id=trial.cell_id,
            client=trial.client_id,
            protocol=trial.protocol,
            round=trial.round_index,
            outcome=trial.outcome,
            ttlb_ms=None if trial.ttlb_s is None else trial.ttlb_s * 1000,
            unproven_reason=trial.unproven_reason or None,
            trace=AckTraceOut(
                transport=trace.transport,
                source=trace.source,
                at_ms=[round(point.at_ms, 3) for point in trace.points],
                acked_bytes=[point.acked_bytes for point in trace.points],
                rtt_ms=trace.rtt_ms,
                received_bytes=trace.received_bytes,
                duplicate_bytes=trace.duplicate_bytes,
                wire_bytes=trace.wire_bytes,
                retransmitted=[PieceOut(**asdict(piece)) for piece in trace.retransmitted],
                note=trace.note,
            )
            if trace
            else None,
            figures=AckFiguresOut(**asdict(acks.figures)) if acks.figures else None,
            problem=TraceProblemOut(kind=problem.kind, detail=problem.detail) if problem else None,
            artifacts=[ArtifactOut.of(record) for record in acks.artifacts],
        )


class CellAcksOut(Output):
    """The watched trials of a cell, H2 and H3 together; empty when none was watched."""

    cell_id: int
    trials: list[TrialAcksOut]

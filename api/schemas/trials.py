"""Trials as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from api.schemas.common import EndpointName, Input, Moment, Name, Output, PageQuery, Timestamp
from lastbyte.domain.campaign import MAX_ROUNDS
from lastbyte.domain.page import PageLoad
from lastbyte.domain.tls import GroupSource, TlsDetails
from lastbyte.domain.trial import DirectionCounters, FailureKind, HostUse, LinkProof
from lastbyte.ports import TrialFilter, TrialOrder, TrialRecord

OutcomeName = StrEnum("OutcomeName", {"OK": "ok", **{kind.name: kind.value for kind in FailureKind}})  # type: ignore[misc]
"""``ok`` or a kind of failure."""

TrialSort = Literal["id", "-id", "started_at", "-started_at", "ttlb", "-ttlb", "elapsed", "-elapsed"]


class TrialFilterQuery(Input):
    """Which trials of a campaign."""

    endpoint: EndpointName | None = Field(default=None, description="Only trials of this endpoint.")
    profile: Name | None = Field(default=None, description="Only trials under this profile.")
    client: Name | None = Field(default=None, description="Only trials by this client.")
    outcome: OutcomeName | None = Field(default=None, description="`ok` or a kind of failure.")
    provider: Name | None = Field(default=None, description="Only trials of this provider.")
    cell: int | None = Field(default=None, ge=0, lt=2**63, description="Only trials of this cell.")
    round: int | None = Field(default=None, ge=-1000, le=MAX_ROUNDS, description="Only trials of this round.")
    warmup: bool | None = Field(default=None, description="Only warm-up rounds, or only others.")
    failed: bool | None = Field(default=None, description="Only trials that failed, or only others.")
    unproven: bool | None = Field(default=None, description="Only trials kept out of comparisons, or only others.")
    started_from: Moment | None = Field(default=None, description="Started at or after this time (RFC 3339).")
    started_to: Moment | None = Field(default=None, description="Started before this time (RFC 3339).")
    ttlb_from_ms: float | None = Field(default=None, ge=0, le=1e12, description="TTLB at least this.")
    ttlb_to_ms: float | None = Field(default=None, ge=0, le=1e12, description="TTLB at most this.")

    def to_filter(self) -> TrialFilter:
        """For the store."""
        return TrialFilter(
            endpoint_id=self.endpoint,
            profile_name=self.profile,
            client_id=self.client,
            outcome=str(self.outcome) if self.outcome is not None else None,
            provider=self.provider,
            cell_id=self.cell,
            round_index=self.round,
            warmup=self.warmup,
            failed=self.failed,
            unproven=self.unproven,
            started_from=self.started_from,
            started_to=self.started_to,
            ttlb_from_s=None if self.ttlb_from_ms is None else self.ttlb_from_ms / 1000,
            ttlb_to_s=None if self.ttlb_to_ms is None else self.ttlb_to_ms / 1000,
        )


class TrialQuery(TrialFilterQuery, PageQuery):
    """Which trials of a campaign, in which order."""

    sort: TrialSort = Field(default="id", description="`id` is the order of storing; a minus turns it round.")

    @property
    def order(self) -> TrialOrder:
        """By what."""
        name: TrialOrder = self.sort.removeprefix("-")  # type: ignore[assignment]
        return name


class DirectionOut(Output):
    """What a direction's qdisc did while the trial ran."""

    offered_packets: int = Field(description="Packets that came out and packets that were dropped.")
    sent_packets: int
    sent_bytes: int
    dropped_packets: int = Field(description="Random loss and queue overflow together.")
    overflow_packets: int = Field(
        description="Drops beyond what the requested random loss explains (99.9 % quantile): a full queue."
    )
    backlog_packets: int

    @classmethod
    def of(cls, counters: DirectionCounters) -> DirectionOut:
        """From the domain."""
        return cls(
            offered_packets=counters.offered_packets,
            sent_packets=counters.sent_packets,
            sent_bytes=counters.sent_bytes,
            dropped_packets=counters.dropped_packets,
            overflow_packets=counters.overflow_packets,
            backlog_packets=counters.backlog_packets,
        )


class HostUseOut(Output):
    """What the measuring machine did while the trial ran."""

    elapsed_ms: float
    busy_share: float = Field(description="Share of all CPUs' time that was not idle.")
    steal_share: float = Field(description="Share of all CPUs' time that the hypervisor gave to others.")
    steal_ms: float
    load1: float
    pressure_share: float | None = Field(description="Share of the time in which some task waited for a CPU.")
    box_cpu_share: float | None = Field(description="CPU seconds of the box's own processes per second.")

    @classmethod
    def of(cls, use: HostUse) -> HostUseOut:
        """From the domain."""
        return cls(
            elapsed_ms=use.elapsed_s * 1000,
            busy_share=use.busy_share,
            steal_share=use.steal_share,
            steal_ms=use.steal_s * 1000,
            load1=use.load1,
            pressure_share=use.pressure_share,
            box_cpu_share=use.box_cpu_share,
        )


class LinkProofOut(Output):
    """What the link did during the trial."""

    downlink: DirectionOut
    uplink: DirectionOut
    udp_rcvbuf_errors: int
    netem_seed: int | None = Field(
        description="Seed of the link's random numbers, the same for each client of the round; null: none was set."
    )
    timeline_steps: int | None = Field(
        description="Steps of the profile's timeline that took effect; null: it has none."
    )
    timeline_worst_late_ms: float | None = Field(description="How late the latest of them was.")
    host: HostUseOut | None

    @classmethod
    def of(cls, proof: LinkProof) -> LinkProofOut:
        """From the domain."""
        return cls(
            downlink=DirectionOut.of(proof.downlink),
            uplink=DirectionOut.of(proof.uplink),
            udp_rcvbuf_errors=proof.udp_rcvbuf_errors,
            netem_seed=proof.netem_seed,
            timeline_steps=proof.played.steps if proof.played else None,
            timeline_worst_late_ms=proof.played.worst_late_ms if proof.played else None,
            host=HostUseOut.of(proof.host) if proof.host else None,
        )


class TlsOut(Output):
    """What the handshake agreed on; null where it can't be known."""

    version: str | None
    cipher: str | None
    group: str | None = Field(description="Key exchange group.", examples=["X25519MLKEM768"])
    group_source: GroupSource = Field(
        description="`client`: it said so; `server-hello`: by the length of the server's key share; `pinned`: no other "
        "was offered; `server`: it said so in a header; `unknown`: this build does not say (BoringSSL over QUIC)."
    )

    @classmethod
    def of(cls, tls: TlsDetails) -> TlsOut:
        """From the domain."""
        return cls(version=tls.version, cipher=tls.cipher, group=tls.group, group_source=tls.group_source)


class PageOut(Output):
    """What a whole page's load came to. Times from the start of the first connection, as TTLB is."""

    load_ms: float | None = Field(description="Load event.")
    fcp_ms: float | None = Field(description="First contentful paint.")
    lcp_ms: float | None = Field(description="Largest contentful paint until shortly after the load event.")
    resources: int = Field(description="Answered, of those asked for over the network before the load event.")
    failed_resources: int = Field(description="Answered with a status of 400 or above.")
    hosts: int = Field(description="Names that answered.")
    body_bytes: int = Field(description="Of all bodies, decompressed.")
    transferred_bytes: int = Field(description="Of all answers with their headers, as compressed.")
    connections: int = Field(description="New ones that answered something.")
    protocols: dict[str, int] = Field(description="Protocol to resources that came over it.", examples=[{"h3": 18}])
    blocked_hosts: list[str] = Field(description="Names asked for that are none of the page's own; nothing was loaded.")

    @classmethod
    def of(cls, page: PageLoad) -> PageOut:
        """From the domain."""
        return cls(
            load_ms=_ms(page.load_s),
            fcp_ms=_ms(page.fcp_s),
            lcp_ms=_ms(page.lcp_s),
            resources=page.resources,
            failed_resources=page.failed_resources,
            hosts=page.hosts,
            body_bytes=page.body_bytes,
            transferred_bytes=page.transferred_bytes,
            connections=page.connections,
            protocols=dict(page.protocols),
            blocked_hosts=list(page.blocked_hosts),
        )


class TrialOut(Output):
    """One fetch by one client."""

    id: int
    cell_id: int
    endpoint: str
    profile: str
    client: str
    round: int = Field(description="0 is the warm-up round, below 0 are the capture rounds.")
    position: int = Field(description="Place of the client within the round, from 0.")
    warmup: bool
    capture: bool = Field(
        description="It was watched, so it is never counted; GET /trials/{id}/acks and its artifacts."
    )
    started_at: Timestamp
    outcome: str = Field(description="`ok` or a kind of failure.", examples=["ok", "timeout"])
    failure_detail: str | None = Field(description="What the client said, raw.")
    handshake_ms: float | None = Field(description="Start of the connection to TLS or QUIC handshake done.")
    ttfb_ms: float | None = Field(description="Start of the connection to first response byte.")
    ttlb_ms: float | None = Field(description="Start of the connection to last body byte.")
    elapsed_ms: float = Field(description="Wall time of the client process.")
    exit_code: int
    http_status: int | None
    http_version: str | None
    body_bytes: int | None
    body_sha256: str | None = Field(description="Of a whole body; null: it failed, or its program keeps it.")
    tls: TlsOut | None
    page: PageOut | None = Field(description="Of a whole page; null for a single object, or a document alone.")
    remote_address: str | None
    headers: dict[str, str] = Field(description="Response headers that tell the edge.")
    client_version: str | None
    client_sha256: str | None
    unproven_reason: str | None = Field(description="Why it is kept out of comparisons; null when it is not.")
    proof: LinkProofOut | None

    @classmethod
    def of(cls, record: TrialRecord) -> TrialOut:
        """From the domain."""
        trial, seen = record.trial, record.trial.observation
        timings = seen.timings
        return cls(
            id=record.id,
            cell_id=record.cell_id,
            endpoint=record.endpoint_id,
            profile=record.profile_name,
            client=trial.client_id,
            round=trial.round_index,
            position=trial.position,
            warmup=trial.is_warmup,
            capture=trial.is_capture,
            started_at=seen.started_at,
            outcome=seen.failure.kind.value if seen.failure else "ok",
            failure_detail=seen.failure.detail if seen.failure else None,
            handshake_ms=_ms(timings.handshake_s) if timings else None,
            ttfb_ms=_ms(timings.ttfb_s) if timings else None,
            ttlb_ms=_ms(timings.ttlb_s) if timings else None,
            elapsed_ms=seen.elapsed_s * 1000,
            exit_code=seen.exit_code,
            http_status=seen.http_status,
            http_version=seen.http_version,
            body_bytes=seen.body_bytes,
            body_sha256=seen.body_sha256,
            tls=TlsOut.of(seen.tls) if seen.tls else None,
            page=PageOut.of(seen.page) if seen.page else None,
            remote_address=seen.remote_address,
            headers=dict(seen.headers),
            client_version=record.build.short_version if record.build else None,
            client_sha256=record.build.sha256 if record.build else None,
            unproven_reason=trial.unproven_reason or None,
            proof=LinkProofOut.of(trial.proof) if trial.proof else None,
        )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000

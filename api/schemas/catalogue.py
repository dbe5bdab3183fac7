"""Endpoints, profiles, clients and vantages as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Literal

from pydantic import Field

from api.schemas.common import Output, Timestamp
from lastbyte.domain.client import Client
from lastbyte.domain.impairment import Slot
from lastbyte.domain.loss import FourState, GilbertElliott
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.timeline import Timeline
from lastbyte.ports import EndpointEntry, SeenBuild, SeenVantage, SeenWorker


class EndpointLimitsOut(Output):
    """Where an endpoint's courtesy budget differs from that of others."""

    requests_per_day: int | None
    bytes_per_day: int | None
    min_gap_s: float | None


class EndpointOut(Output):
    """A URL to measure."""

    id: str = Field(examples=["testbed-caddy-100KB"])
    provider: str
    url: str
    size_label: str = Field(description="Nominal size.", examples=["100KB"])
    kind: Literal["object", "page"]
    origin: Literal["production", "testbed"]
    expected_bytes: int | None = Field(description="Body size that is asserted, in bytes.")
    expected_sha256: str | None = Field(description="SHA-256 of the body that is asserted; null: none is.")
    base_rtt_ms: float = Field(description="Distance that the path adds for a stand-in origin, in ms of RTT.")
    host: str
    own: bool = Field(description="Made or changed over the API, so that the catalogue's files have no say over it.")
    budget: EndpointLimitsOut = Field(description="Its own courtesy budget; null: as that of others.")

    @classmethod
    def of_entry(cls, entry: EndpointEntry) -> EndpointOut:
        """From the catalogue."""
        endpoint, budget = entry.endpoint, entry.budget
        return cls(
            id=endpoint.id,
            provider=endpoint.provider,
            url=endpoint.url,
            size_label=endpoint.size_label,
            kind=endpoint.kind.value,
            origin=endpoint.origin.value,
            expected_bytes=endpoint.expected_bytes,
            expected_sha256=endpoint.expected_sha256,
            base_rtt_ms=endpoint.base_rtt_ms,
            host=endpoint.host,
            own=entry.own,
            budget=EndpointLimitsOut(
                requests_per_day=budget.requests_per_day,
                bytes_per_day=budget.bytes_per_day,
                min_gap_s=budget.min_gap_s,
            ),
        )


class ImpairmentOut(Output):
    """What one direction does to packets."""

    delay_ms: float
    loss_pct: float
    rate_mbit_s: float | None
    queue_packets: int
    queue_bdp: float | None = Field(description="Queue in multiples of the BDP; null: queue_packets counts.")
    jitter_ms: float
    jitter_distribution: str
    jitter_correlation_pct: float
    loss_correlation_pct: float
    loss_gemodel: GilbertElliott | None
    loss_state: FourState | None
    expected_loss_pct: float = Field(description="Loss in the long run, whatever the model.")
    reorder_pct: float
    reorder_correlation_pct: float
    reorder_gap: int
    duplicate_pct: float
    duplicate_correlation_pct: float
    corrupt_pct: float
    corrupt_correlation_pct: float
    slot: Slot | None

    @classmethod
    def of(cls, impairment: Impairment) -> ImpairmentOut:
        """From the domain."""
        values = {item.name: getattr(impairment, item.name) for item in fields(impairment)}
        return cls(**values, expected_loss_pct=impairment.expected_loss_pct)


class ProfileOut(Output):
    """A network condition."""

    name: str = Field(examples=["loss-1"])
    description: str
    extra_rtt_ms: float
    loss_pct: float
    rate_mbit_s: float | None
    downlink: ImpairmentOut
    uplink: ImpairmentOut
    group: str = Field(description="Heading under which lists show it.")
    source: str = Field(description="Where its numbers come from.")
    timeline: Timeline | None = Field(description="How it changes while a trial runs.")
    warnings: list[str] = Field(description="What may mislead about it, at any distance of the endpoint.")

    @classmethod
    def of(cls, profile: Profile) -> ProfileOut:
        """From the domain."""
        return cls(
            name=profile.name,
            description=profile.description,
            extra_rtt_ms=profile.extra_rtt_ms,
            loss_pct=profile.loss_pct,
            rate_mbit_s=profile.rate_mbit_s,
            downlink=ImpairmentOut.of(profile.downlink),
            uplink=ImpairmentOut.of(profile.uplink),
            group=profile.group,
            source=profile.source,
            timeline=profile.timeline,
            warnings=list(profile.warnings()),
        )


class BuildOut(Output):
    """An exact program that ran a trial."""

    version: str = Field(description="First line of what the program says of itself.")
    version_text: str = Field(description="All of it.")
    sha256: str = Field(description="Digest of the executable file.")
    first_seen_at: Timestamp


class ClientOut(Output):
    """One way to fetch."""

    id: str = Field(examples=["curl-quiche-h3"])
    program: str = Field(examples=["curl-quiche"])
    protocol: Literal["h2", "h3"]
    title: str
    quic_stack: str
    memory: Literal["reuse", "resume", "0rtt"] | None = Field(
        description="What it starts with of a request before: an open connection, a session ticket; null: nothing."
    )
    argv: list[str] = Field(description="Argument template.")
    builds: list[BuildOut]

    @classmethod
    def of(cls, client: Client, builds: Sequence[SeenBuild]) -> ClientOut:
        """From the domain; ``builds`` of any program."""
        return cls(
            id=client.id,
            program=client.program,
            protocol=client.protocol.value,
            title=client.title,
            quic_stack=client.quic_stack,
            memory=client.memory.value if client.memory else None,
            argv=list(client.argv),
            builds=[
                BuildOut(
                    version=seen.build.short_version,
                    version_text=seen.build.version_text,
                    sha256=seen.build.sha256,
                    first_seen_at=seen.first_seen_at,
                )
                for seen in builds
                if seen.build.program == client.program
            ],
        )


class InstalledClientOut(Output):
    """A client that a vantage has."""

    id: str
    version: str
    sha256: str
    ceiling_mbit_s: float | None = Field(
        description="Unshaped rate of this build there, by `lastbyte ceilings`; null when it was not measured."
    )


class WorkerOut(Output):
    """A worker process."""

    id: str
    version: str = Field(description="Of lastbyte there; old and new ones work side by side during an upgrade.")
    hostname: str
    pid: int
    started_at: Timestamp
    last_seen_at: Timestamp
    alive: bool = Field(description="A heartbeat came within the last 30 seconds.")
    cell_id: int | None = Field(description="What it measures now.")
    trouble: str = Field(description="Why it can't measure now; empty when it can.")

    @classmethod
    def of(cls, seen: SeenWorker) -> WorkerOut:
        """From the domain."""
        me = seen.worker
        return cls(
            id=me.id,
            version=me.version,
            hostname=me.hostname,
            pid=me.pid,
            started_at=seen.started_at,
            last_seen_at=seen.last_seen_at,
            alive=seen.alive,
            cell_id=me.cell_id,
            trouble=me.trouble,
        )


class VantageOut(Output):
    """A place with workers."""

    name: str = Field(examples=["local"])
    box_kind: str = Field(description="kernel or uml.")
    hostname: str
    kernel: str
    last_seen_at: Timestamp
    alive: bool = Field(description="A heartbeat of any of its workers came within the last 30 seconds.")
    trouble: str = Field(description="Why it can't measure now; empty when it can.")
    clients: list[InstalledClientOut]
    workers: list[WorkerOut] = Field(description="Heard of within the last hour; those that ended in peace are gone.")

    @classmethod
    def of(cls, seen: SeenVantage) -> VantageOut:
        """From the domain."""
        place = seen.vantage
        return cls(
            name=place.name,
            box_kind=place.box_kind,
            hostname=place.hostname,
            kernel=place.kernel,
            last_seen_at=seen.last_seen_at,
            alive=seen.alive,
            trouble=place.trouble,
            clients=[
                InstalledClientOut(id=c.id, version=c.version, sha256=c.sha256, ceiling_mbit_s=c.ceiling_mbit_s)
                for c in place.clients
            ],
            workers=[WorkerOut.of(worker) for worker in seen.workers],
        )

"""The tables, in the words of the product.

What a campaign measures is frozen when it is planned: ``cells.endpoint``, ``cells.profile`` and
``campaign_arms.client`` hold the whole description as JSON, so a later edit of the catalogue can't change what an old
result means.
Counters of progress live on the cell, never on the campaign: workers of one campaign don't wait for each other.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
"""Every constraint has a name that can be foretold, so that a migration can drop it anywhere."""

Json = dict[str, Any]


class Base(DeclarativeBase):
    """Root of the tables."""

    metadata = MetaData(naming_convention=NAMING_CONVENTION)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's own convention
        str: Text(),
        datetime: DateTime(timezone=True),
        Json: JSONB(),
        float: Float(53),
    }


class EndpointRow(Base):
    """Catalogue of endpoints as of now; campaigns hold their own copy."""

    __tablename__ = "endpoints"

    id: Mapped[str] = mapped_column(primary_key=True)
    provider: Mapped[str]
    url: Mapped[str]
    size_label: Mapped[str]
    kind: Mapped[str]
    origin: Mapped[str]
    expected_bytes: Mapped[int | None] = mapped_column(BigInteger)
    expected_sha256: Mapped[str | None]
    base_rtt_ms: Mapped[float]
    position: Mapped[int]
    """Place in the catalogue's own order."""
    active: Mapped[bool] = mapped_column(server_default=text("true"))
    """False once the catalogue no longer holds it; kept for the campaigns that measured it."""
    own: Mapped[bool] = mapped_column(server_default=text("false"))
    """Made or changed by people: the catalogue's files have no say over it."""
    requests_per_day: Mapped[int | None] = mapped_column(BigInteger)
    """Its own courtesy budget, as are the next two; NULL: the default."""
    bytes_per_day: Mapped[int | None] = mapped_column(BigInteger)
    min_gap_s: Mapped[float | None]


class ProfileRow(Base):
    """Catalogue of profiles as of now; campaigns hold their own copy."""

    __tablename__ = "profiles"

    name: Mapped[str] = mapped_column(primary_key=True)
    spec: Mapped[Json]
    position: Mapped[int]
    active: Mapped[bool] = mapped_column(server_default=text("true"))
    own: Mapped[bool] = mapped_column(server_default=text("false"))
    """Made or changed by people: the catalogue's files have no say over it."""


class ClientRow(Base):
    """Catalogue of clients as of now; campaigns hold their own copy."""

    __tablename__ = "clients"

    id: Mapped[str] = mapped_column(primary_key=True)
    program: Mapped[str]
    protocol: Mapped[str]
    spec: Mapped[Json]
    position: Mapped[int]
    active: Mapped[bool] = mapped_column(server_default=text("true"))


class ClientBuildRow(Base):
    """An exact program that ran somewhere."""

    __tablename__ = "client_builds"
    __table_args__ = (UniqueConstraint("program", "sha256", "version_sha256"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    program: Mapped[str]
    path: Mapped[str]
    version_text: Mapped[str]
    version_sha256: Mapped[str]
    """Digest of ``version_text``: one binary can say another version when its shared libraries change."""
    sha256: Mapped[str]
    first_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())


class VantageRow(Base):
    """A place with workers, as its last heartbeat described it."""

    __tablename__ = "vantages"

    name: Mapped[str] = mapped_column(primary_key=True)
    box_kind: Mapped[str]
    hostname: Mapped[str]
    kernel: Mapped[str]
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    capabilities: Mapped[Json]


class WorkerRow(Base):
    """A worker process, as its last heartbeat described it."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(primary_key=True)
    vantage: Mapped[str]
    hostname: Mapped[str]
    pid: Mapped[int]
    version: Mapped[str]
    cell_id: Mapped[int | None] = mapped_column(BigInteger)
    """What it measures now."""
    trouble: Mapped[str]
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())


class CampaignRow(Base):
    """What a user asked for."""

    __tablename__ = "campaigns"
    __table_args__ = (
        CheckConstraint("state IN ('queued', 'running', 'paused', 'done', 'cancelled')", name="state"),
        CheckConstraint("rounds >= 1", name="rounds"),
        CheckConstraint("max_rounds >= rounds", name="max_rounds"),
        CheckConstraint("aa IN ('off', 'baseline', 'both')", name="aa"),
        CheckConstraint("priority IN ('high', 'normal', 'low')", name="priority"),
        CheckConstraint("capture IN ('never', 'last-round', 'last-three-rounds')", name="capture"),
        Index(None, "created_at", "id"),
        Index(None, "labels", postgresql_using="gin"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str]
    state: Mapped[str] = mapped_column(server_default=text("'queued'"))
    endpoint_ids: Mapped[list[str]] = mapped_column(ARRAY(Text))
    profile_names: Mapped[list[str]] = mapped_column(ARRAY(Text))
    rounds: Mapped[int]
    """Counted rounds per cell; the least, where ``max_rounds`` is set."""
    max_rounds: Mapped[int | None]
    target_width_pct: Mapped[float | None]
    equivalence_pct: Mapped[float] = mapped_column(server_default=text("3"))
    aa: Mapped[str] = mapped_column(server_default=text("'off'"))
    priority: Mapped[str] = mapped_column(server_default=text("'normal'"))
    capture: Mapped[str] = mapped_column(server_default=text("'never'"))
    tls_groups: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    """Key exchange groups that were pinned."""
    seed: Mapped[int] = mapped_column(BigInteger)
    vantage: Mapped[str]
    timeout_s: Mapped[float]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    labels: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    """Words by which people and schedules find it again."""
    source: Mapped[Json | None] = mapped_column(JSONB(none_as_null=True))
    """Where an imported campaign came from; NULL: it was measured here."""


class CampaignArmRow(Base):
    """One client of a campaign, frozen."""

    __tablename__ = "campaign_arms"

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True)
    client_id: Mapped[str] = mapped_column(ForeignKey("clients.id"), primary_key=True)
    position: Mapped[int] = mapped_column(SmallInteger)
    client: Mapped[Json]


class CellRow(Base):
    """One endpoint x profile x vantage of a campaign: what a worker measures in one go."""

    __tablename__ = "cells"
    __table_args__ = (
        UniqueConstraint("campaign_id", "endpoint_id", "profile_name", "vantage"),
        Index(None, "endpoint_id", "profile_name"),
        CheckConstraint("state IN ('pending', 'running', 'done', 'cancelled', 'quarantined')", name="state"),
        CheckConstraint("trials_failed <= trials_done", name="counters"),
        Index("ix_cells_host", "host", postgresql_where=text("state = 'running' AND host IS NOT NULL")),
        Index("ix_cells_open", "vantage", "id", postgresql_where=text("state IN ('pending', 'running')")),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("endpoints.id"))
    profile_name: Mapped[str] = mapped_column(ForeignKey("profiles.name"))
    vantage: Mapped[str]
    position: Mapped[int]
    endpoint: Mapped[Json]
    profile: Mapped[Json]
    state: Mapped[str] = mapped_column(server_default=text("'pending'"))
    lease_owner: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    """By the database's clock: workers' clocks may differ."""
    host: Mapped[str | None]
    """Host that must be treated with courtesy; null: one of our own."""
    waiting_for: Mapped[str | None]
    """Why it is not measured before ``not_before``."""
    not_before: Mapped[datetime | None]
    trials_planned: Mapped[int]
    """At most; a cell that needs fewer rounds says in ``trials_saved`` how many it left out."""
    rounds_saved: Mapped[int] = mapped_column(server_default=text("0"))
    trials_saved: Mapped[int] = mapped_column(server_default=text("0"))
    trials_done: Mapped[int] = mapped_column(server_default=text("0"))
    """Stored trials, failed ones too."""
    trials_failed: Mapped[int] = mapped_column(server_default=text("0"))
    busy_s: Mapped[float] = mapped_column(server_default=text("0"))
    """Seconds during which a worker measured this cell; the base of the campaign's ETA."""
    progress_at: Mapped[datetime | None]
    """Last claim or stored trial; ``busy_s`` grows from here."""
    crashes: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    """Workers that it crashed since its last stored trial."""
    crash_reason: Mapped[str | None]
    """How the last one ended; of a cell in quarantine, a sentence for people."""
    proof: Mapped[Json | None]
    version: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    """Grows with everything that a square of a heatmap shows: a square of the same version is the same square."""
    build_ids: Mapped[Json | None]
    """Client id -> client_builds.id, given to each trial as it is stored."""
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class AnnotationRow(Base):
    """What somebody noted about a moment, to stand beside trends."""

    __tablename__ = "annotations"
    __table_args__ = (Index(None, "at"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    at: Mapped[datetime]
    text: Mapped[str]
    endpoint_id: Mapped[str | None]
    """NULL: it concerns everything."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class IdempotencyKeyRow(Base):
    """A create that carried a key, and its answer; for a day."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index(None, "created_at"),)

    scope: Mapped[str] = mapped_column(primary_key=True)
    """Whose key it is."""
    key: Mapped[str] = mapped_column(primary_key=True)
    request_sha256: Mapped[str]
    status: Mapped[int | None]
    """Never NULL now: it is stored with what was created. Older versions took the key first."""
    headers: Mapped[Json | None]
    body: Mapped[bytes | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class HostRow(Base):
    """What was asked of a host that is not ours, on its last day of use (UTC)."""

    __tablename__ = "hosts"

    host: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[date]
    requests: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    last_at: Mapped[datetime | None]
    """End of the last fetch."""


class TrialRow(Base):
    """One fetch. Written once, never changed.

    Partitioned by month of ``stored_at``, the database's clock. That a round of an arm is there once in its cell is
    kept by ``cell_rollups``, and by a unique index within each month.
    """

    __tablename__ = "trials"
    __table_args__ = (
        CheckConstraint("(outcome = 'ok') = (ttlb_s IS NOT NULL)", name="ttlb"),
        Index(None, "campaign_id", "id"),
        {"postgresql_partition_by": "RANGE (stored_at)"},
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    """The cell's campaign again, so that a page of a campaign's trials is one index range."""
    cell_id: Mapped[int] = mapped_column(ForeignKey("cells.id", ondelete="CASCADE"))
    client_build_id: Mapped[int | None] = mapped_column(ForeignKey("client_builds.id"))
    client_id: Mapped[str]
    round_index: Mapped[int]
    position: Mapped[int] = mapped_column(SmallInteger)
    started_at: Mapped[datetime]
    outcome: Mapped[str]
    """``ok`` or the kind of failure."""
    failure_detail: Mapped[str | None]
    handshake_s: Mapped[float | None]
    ttfb_s: Mapped[float | None]
    ttlb_s: Mapped[float | None]
    elapsed_s: Mapped[float]
    exit_code: Mapped[int]
    http_status: Mapped[int | None]
    http_version: Mapped[str | None]
    body_bytes: Mapped[int | None] = mapped_column(BigInteger)
    remote_address: Mapped[str | None]
    headers: Mapped[Json]
    proof: Mapped[Json | None]
    body_sha256: Mapped[str | None]
    tls: Mapped[Json | None] = mapped_column(JSONB(none_as_null=True))
    """What the handshake agreed on."""
    unproven_reason: Mapped[str | None]
    """Why link or machine were out of tolerance during it; null when they were in tolerance."""
    stored_at: Mapped[datetime] = mapped_column(server_default=func.now(), primary_key=True)


class CellRollupRow(Base):
    """What comparisons need of the trials of one arm of a cell: arrays with an item per trial."""

    __tablename__ = "cell_rollups"

    cell_id: Mapped[int] = mapped_column(ForeignKey("cells.id", ondelete="CASCADE"), primary_key=True)
    client_id: Mapped[str] = mapped_column(primary_key=True)
    rounds: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    """Each round once, the warm-up round 0 too; in the order in which the trials were stored."""
    kinds: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """``ok`` or the kind of failure."""
    ttlb_s: Mapped[list[float | None]] = mapped_column(ARRAY(Float(53)))
    handshake_s: Mapped[list[float | None]] = mapped_column(ARRAY(Float(53)))
    ttfb_s: Mapped[list[float | None]] = mapped_column(ARRAY(Float(53)))
    elapsed_s: Mapped[list[float | None]] = mapped_column(ARRAY(Float(53)))
    body_bytes: Mapped[list[int | None]] = mapped_column(ARRAY(BigInteger))
    unproven: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """Why the trial is kept out of comparisons; empty text when it is not."""
    bodies: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """Beginning of the body's digest; empty text where there is none."""
    tls: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """What the handshake agreed on, in a line; empty text where nothing is known."""


class KeptAnswerRow(Base):
    """An answer about a campaign that is over: whatever makes it again finds the same."""

    __tablename__ = "kept_answers"

    campaign_id: Mapped[UUID] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True)
    question: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[str]
    """Of the campaign and of the code; an answer of another revision is none."""
    answer: Mapped[bytes]


class ArtifactRow(Base):
    """A file that a trial left, or why it is not kept."""

    __tablename__ = "artifacts"
    __table_args__ = (
        CheckConstraint("(dropped_reason <> '') = (location = '')", name="dropped"),
        Index(None, "trial_id"),
        Index(None, "location"),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    trial_id: Mapped[int] = mapped_column(BigInteger)
    """Goes with its trial by a trigger: a partitioned table can't be referred to by ``id`` alone."""
    kind: Mapped[str]
    media_type: Mapped[str]
    location: Mapped[str]
    """Below the folder of artifacts; empty: dropped."""
    byte_size: Mapped[int] = mapped_column(BigInteger)
    """Of the bytes as kept, as is ``sha256``."""
    sha256: Mapped[str]
    file_name: Mapped[str] = mapped_column(server_default=text("''"))
    encoding: Mapped[str] = mapped_column(server_default=text("''"))
    """``gzip``, or empty."""
    raw_bytes: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    """Once decompressed."""
    dropped_reason: Mapped[str] = mapped_column(server_default=text("''"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ScheduleRow(Base):
    """A cron expression with a time zone that starts a campaign from a template."""

    __tablename__ = "schedules"
    __table_args__ = (
        UniqueConstraint("name"),
        CheckConstraint("missed IN ('skip', 'catch-up')", name="missed"),
        CheckConstraint("overlap IN ('skip', 'queue')", name="overlap"),
        CheckConstraint("enabled = (next_due_at IS NOT NULL)", name="next_due_at"),
        Index("ix_schedules_due", "next_due_at", postgresql_where=text("next_due_at IS NOT NULL")),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    name: Mapped[str]
    cron: Mapped[str]
    time_zone: Mapped[str]
    template: Mapped[Json]
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    missed: Mapped[str] = mapped_column(server_default=text("'skip'"))
    overlap: Mapped[str] = mapped_column(server_default=text("'skip'"))
    next_due_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ScheduleRunRow(Base):
    """What became of one due time; the unique key lets each due time start once."""

    __tablename__ = "schedule_runs"
    __table_args__ = (
        UniqueConstraint("schedule_id", "due_at"),
        CheckConstraint("trigger IN ('due', 'catch-up', 'manual')", name="trigger"),
        CheckConstraint("outcome IN ('started', 'queued', 'skipped', 'failed')", name="outcome"),
        Index(None, "schedule_id", "id"),
        Index("ix_schedule_runs_queued", "schedule_id", unique=True, postgresql_where=text("outcome = 'queued'")),
        Index(None, "campaign_id"),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    schedule_id: Mapped[int] = mapped_column(ForeignKey("schedules.id", ondelete="CASCADE"))
    due_at: Mapped[datetime]
    trigger: Mapped[str]
    outcome: Mapped[str]
    reason: Mapped[str] = mapped_column(server_default=text("''"))
    campaign_id: Mapped[UUID | None] = mapped_column(ForeignKey("campaigns.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ApiKeyRow(Base):
    """An API key without its secret."""

    __tablename__ = "api_keys"
    __table_args__ = (
        UniqueConstraint("prefix"),
        CheckConstraint("scope IN ('read', 'schedule', 'admin')", name="scope"),
        CheckConstraint("requests_per_minute > 0", name="requests_per_minute"),
        Index("ix_api_keys_name", "name", unique=True, postgresql_where=text("revoked_at IS NULL")),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    name: Mapped[str]
    prefix: Mapped[str]
    secret_sha256: Mapped[str]
    scope: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    requests_per_minute: Mapped[int | None]

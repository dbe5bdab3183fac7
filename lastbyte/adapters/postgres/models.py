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
    ARRAY,
    BigInteger,
    CheckConstraint,
    DateTime,
    Float,
    ForeignKey,
    Identity,
    Index,
    MetaData,
    SmallInteger,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
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
    base_rtt_ms: Mapped[float]
    position: Mapped[int]
    """Place in the catalogue's own order."""
    active: Mapped[bool] = mapped_column(server_default=text("true"))
    """False once the catalogue no longer holds it; kept for the campaigns that measured it."""


class ProfileRow(Base):
    """Catalogue of profiles as of now; campaigns hold their own copy."""

    __tablename__ = "profiles"

    name: Mapped[str] = mapped_column(primary_key=True)
    spec: Mapped[Json]
    position: Mapped[int]
    active: Mapped[bool] = mapped_column(server_default=text("true"))


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


class CampaignRow(Base):
    """What a user asked for."""

    __tablename__ = "campaigns"
    __table_args__ = (
        CheckConstraint("state IN ('queued', 'running', 'done', 'cancelled')", name="state"),
        CheckConstraint("rounds >= 1", name="rounds"),
        CheckConstraint("max_rounds >= rounds", name="max_rounds"),
        CheckConstraint("aa IN ('off', 'baseline', 'both')", name="aa"),
        Index(None, "created_at", "id"),
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
    seed: Mapped[int] = mapped_column(BigInteger)
    vantage: Mapped[str]
    timeout_s: Mapped[float]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
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
        CheckConstraint("state IN ('pending', 'running', 'done', 'cancelled')", name="state"),
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
    proof: Mapped[Json | None]
    build_ids: Mapped[Json | None]
    """Client id -> client_builds.id, given to each trial as it is stored."""
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


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
    """One fetch. Written once, never changed."""

    __tablename__ = "trials"
    __table_args__ = (
        UniqueConstraint("cell_id", "round_index", "client_id"),
        CheckConstraint("(outcome = 'ok') = (ttlb_s IS NOT NULL)", name="ttlb"),
        Index(None, "campaign_id", "id"),
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
    unproven_reason: Mapped[str | None]
    """Why link or machine were out of tolerance during it; null when they were in tolerance."""
    stored_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ArtifactRow(Base):
    """A file that a trial left."""

    __tablename__ = "artifacts"
    __table_args__ = (Index(None, "trial_id"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id", ondelete="CASCADE"))
    kind: Mapped[str]
    media_type: Mapped[str]
    location: Mapped[str]
    byte_size: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ScheduleRow(Base):
    """A cron expression with a time zone that starts a campaign from a template."""

    __tablename__ = "schedules"
    __table_args__ = (UniqueConstraint("name"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    name: Mapped[str]
    cron: Mapped[str]
    time_zone: Mapped[str]
    template: Mapped[Json]
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_run_at: Mapped[datetime | None]

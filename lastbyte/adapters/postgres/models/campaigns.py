"""Campaigns, their arms and cells.

Counters of progress live on the cell, never on the campaign: workers of one campaign don't wait for each other.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    SmallInteger,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from lastbyte.adapters.postgres.models.base import Base, Json


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

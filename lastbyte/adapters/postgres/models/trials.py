"""What was measured, and the files that it left."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, SmallInteger, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from lastbyte.adapters.postgres.models.base import Base, Json


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

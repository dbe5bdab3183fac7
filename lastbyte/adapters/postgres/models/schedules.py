"""Campaigns that start by themselves."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column

from lastbyte.adapters.postgres.models.base import Base, Json


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

"""Places to measure from, and the workers there."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, func
from sqlalchemy.orm import Mapped, mapped_column

from lastbyte.adapters.postgres.models.base import Base, Json


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

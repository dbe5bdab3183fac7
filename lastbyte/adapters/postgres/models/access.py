"""Who may ask, and what was asked with a key that lets it happen once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, Identity, Index, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column

from lastbyte.adapters.postgres.models.base import Base, Json


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

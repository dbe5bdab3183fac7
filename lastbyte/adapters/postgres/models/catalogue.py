"""What can be measured, with what, and from where."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Identity, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column

from lastbyte.adapters.postgres.models.base import Base, Json


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

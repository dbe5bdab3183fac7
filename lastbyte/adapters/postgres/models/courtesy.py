"""What was asked of hosts that are not ours."""

from __future__ import annotations

from datetime import date, datetime

from sqlalchemy import BigInteger
from sqlalchemy.orm import Mapped, mapped_column

from lastbyte.adapters.postgres.models.base import Base


class HostRow(Base):
    """What was asked of a host that is not ours, on its last day of use (UTC)."""

    __tablename__ = "hosts"

    host: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[date]
    requests: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    last_at: Mapped[datetime | None]
    """End of the last fetch."""

"""What is drawn from trials: rows that heatmaps and trends read in their place, answers, and notes beside them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Float, ForeignKey, Identity, Index, Integer, Text, func
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from lastbyte.adapters.postgres.models.base import Base


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

"""Pieces that several schemas share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, StringConstraints

T = TypeVar("T")

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"


def rfc3339(moment: datetime) -> str:
    """RFC 3339 in UTC with a Z, to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


Timestamp = Annotated[datetime, PlainSerializer(rfc3339, return_type=str, when_used="json")]

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)]
"""The name or id of something in the catalogue."""

EndpointName = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=PRINTABLE)]
"""The id of an endpoint, or a URL."""


class Input(BaseModel):
    """A body or query: unknown fields are refused, types are not guessed."""

    model_config = ConfigDict(extra="forbid")


class Output(BaseModel):
    """An answer."""

    model_config = ConfigDict(frozen=True)


class Page(Output, Generic[T]):
    """A list, or one page of it."""

    items: list[T]
    next: str | None = Field(default=None, description="Cursor of the next page; null on the last.")
    total: int = Field(description="Items on all pages together.")


class PageQuery(Input):
    """Which page."""

    limit: int = Field(default=100, ge=1, le=1000, description="Items per page.")
    cursor: str | None = Field(
        default=None, min_length=1, max_length=500, description="`next` of the page before, unchanged."
    )

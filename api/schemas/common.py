"""Pieces that several schemas share."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, StringConstraints

T = TypeVar("T")

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"


def rfc3339(moment: datetime) -> str:
    """RFC 3339 in UTC with a Z, to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


Timestamp = Annotated[datetime, PlainSerializer(rfc3339, return_type=str, when_used="json")]


def _with_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("has no time zone; write it with Z or an offset, for example 2026-01-31T03:15:00Z")
    return moment.astimezone(UTC)


def _written_out(value: object) -> object:
    # pydantic would take a number for seconds since 1970, also as text
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE.match(value)):
        return value
    raise ValueError("is not a time; write it as 2026-01-31T03:15:00Z")


_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")

Moment = Annotated[datetime, Field(strict=False), BeforeValidator(_written_out), AfterValidator(_with_zone)]
"""A time in a request: RFC 3339, with its zone."""

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

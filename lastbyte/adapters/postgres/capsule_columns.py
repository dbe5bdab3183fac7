"""Columns of the tables as JSON in capsules. Pure functions.

What is local to one database (row numbers, leases) is left out here and replaced by places within the capsule.
Everything else is written as it is stored and stored as it is written, so that no column can be forgotten.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Float, Integer, RowMapping, bindparam, insert
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import DateTime, TypeEngine, Uuid

from lastbyte.adapters.postgres.models import (
    ArtifactRow,
    Base,
    CampaignArmRow,
    CampaignRow,
    CellRow,
    ClientBuildRow,
    TrialRow,
)

LOCAL: dict[type[Base], tuple[str, ...]] = {
    CampaignRow: (),
    CampaignArmRow: ("campaign_id",),
    CellRow: ("id", "campaign_id", "lease_owner", "lease_until", "build_ids", "version", "crashes"),
    ClientBuildRow: ("id",),
    TrialRow: ("id", "campaign_id", "cell_id", "client_build_id"),
    ArtifactRow: ("id", "trial_id", "location"),
}
"""Columns that mean something in one database only."""

_JSON_TYPES: tuple[tuple[type[TypeEngine[Any]], type | tuple[type, ...]], ...] = (
    (JSONB, dict),
    (ARRAY, list),
    (Float, (int, float)),
    (Integer, int),
)
"""SQL type -> what JSON must hold for it; text for all others."""


def dump(table: type[Base], row: RowMapping) -> dict[str, Any]:
    """A row as a line of a capsule, without what is local."""
    return {c.name: _plain(row[c.name]) for c in table.__table__.columns if c.name not in LOCAL[table]}


def decoded(kind: TypeEngine[Any], value: Any) -> Any:
    """A JSON value as a column of this type takes it; raises TypeError or ValueError."""
    if value is None:
        return None
    if isinstance(kind, DateTime):
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError("it has no time zone")
        return moment
    if isinstance(kind, Uuid):
        return UUID(value)
    wanted = next((json for sql, json in _JSON_TYPES if isinstance(kind, sql)), str)
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise TypeError(f"{value!r} is of the wrong type")
    if isinstance(value, int | float) and not math.isfinite(value):
        raise ValueError("it is not finite")
    return value


def inserting(table: type[Base]) -> Any:
    """INSERT of rows of a capsule."""
    # None in these columns is SQL's NULL, not JSON's null
    nullable = [c.name for c in table.__table__.columns if isinstance(c.type, JSONB) and c.nullable]
    return insert(table).values({name: bindparam(name, type_=JSONB(none_as_null=True)) for name in nullable})


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, UUID) else value

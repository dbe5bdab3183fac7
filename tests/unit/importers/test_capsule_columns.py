"""Whatever is stored of a campaign is in its capsule: a table or a column that nobody decided about fails here."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Boolean, Column, Date, DateTime, Float, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from lastbyte.adapters.postgres.capsule_columns import LOCAL, decoded, dump
from lastbyte.adapters.postgres.models import Base
from lastbyte.services import capsule as form
from lastbyte.services.capsule import json_line

OF_NO_CAMPAIGN = {
    "endpoints",  # catalogues: a campaign holds its own copies
    "profiles",
    "clients",
    "vantages",  # who measures here and now
    "workers",
    "hosts",  # today's courtesy
    "annotations",  # of moments, beside all campaigns
    "schedules",
    "schedule_runs",
    "api_keys",
    "cell_rollups",  # computed anew from the trials of a capsule
    "kept_answers",
    "idempotency_keys",  # requests to the API
}
IN_ANOTHER_WAY = {
    "campaign_id",  # the capsule is one campaign's
    "id",  # replaced by places within the capsule
    "cell_id",
    "trial_id",
    "client_build_id",
    "build_ids",
    "location",  # artifacts lie in the capsule under their digest
}
OF_WORK_UNDER_WAY = {"lease_owner", "lease_until", "version", "crashes"}

SAMPLES: tuple[tuple[type, Any], ...] = (
    (JSONB, {"a": [1, 0.1, None]}),
    (ARRAY, ["x"]),
    (Boolean, True),
    (Float, 0.1),
    (Integer, 7),
    (DateTime, datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)),
    (Date, date(2026, 1, 2)),
    (Uuid, UUID(int=5)),
    (Text, "é"),
)


def sample(column: Column[Any]) -> Any:
    return next(value for kind, value in SAMPLES if isinstance(column.type, kind))


def test_every_table_is_in_capsules_or_known_to_be_of_no_campaign() -> None:
    kept = {table.__tablename__ for table in LOCAL}
    tables = set(Base.metadata.tables)
    assert tables - kept - OF_NO_CAMPAIGN == set(), "put it into capsules, or into OF_NO_CAMPAIGN with its reason"


def test_every_column_is_in_capsules_or_known_to_be_of_one_database_only() -> None:
    for table, left_out in LOCAL.items():
        columns = {column.name for column in table.__table__.columns}
        assert set(left_out) <= columns, f"{table.__tablename__} has no such column"
        assert set(left_out) <= IN_ANOTHER_WAY | OF_WORK_UNDER_WAY
        row = {column.name: sample(column) for column in table.__table__.columns}
        assert set(dump(table, row)) | set(left_out) == columns  # type: ignore[arg-type]


def test_every_column_comes_back_as_it_was() -> None:
    for table, left_out in LOCAL.items():
        for column in table.__table__.columns:
            if column.name in left_out:
                continue
            written = dump(table, {c.name: sample(c) for c in table.__table__.columns})[column.name]  # type: ignore[arg-type]
            assert decoded(column.type, written) == sample(column), f"{table.__tablename__}.{column.name}"
            assert json_line({column.name: written})


def test_the_members_of_a_capsule_are_the_tables_it_keeps() -> None:
    assert len(form.REQUIRED) == len(LOCAL)

"""Trials of a campaign: in pages as JSON, or all of them as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from api.container import Wired
from api.routes.problems import INVALID, NOT_FOUND
from api.schemas.common import Page, rfc3339
from api.schemas.trials import TrialOut, TrialQuery
from lastbyte.ports import TrialRecord

router = APIRouter(prefix="/campaigns/{campaign_id}", tags=["results"])

CSV_COLUMNS = [name for name in TrialOut.model_fields if name not in ("headers", "proof")]
ROWS_PER_CHUNK = 500


@router.get("/trials", responses={**NOT_FOUND, **INVALID})
def list_trials(campaign_id: UUID, query: Annotated[TrialQuery, Query()], wired: Wired) -> Page[TrialOut]:
    """Trials in the order they were stored; `next` of the last page seen is a place to go on from."""
    campaign = wired.campaigns.get(str(campaign_id))
    page = wired.results.trials(campaign.id, query.to_filter(), query.limit, query.cursor)
    return Page(items=[TrialOut.of(record) for record in page.items], next=page.next, total=page.total)


@router.get(
    "/trials.csv",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **NOT_FOUND, **INVALID},
)
def export_trials(campaign_id: UUID, wired: Wired) -> StreamingResponse:
    """Every trial of the campaign as CSV (RFC 4180), one line each, times in milliseconds."""
    campaign = wired.campaigns.get(str(campaign_id))
    return StreamingResponse(
        _csv(wired.results.all_trials(campaign.id)),
        media_type="text/csv; charset=utf-8; header=present",
        headers={"Content-Disposition": f'attachment; filename="lastbyte-{campaign.id}.csv"'},
    )


def _csv(records: Iterator[TrialRecord]) -> Iterator[bytes]:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(CSV_COLUMNS)
    for number, record in enumerate(records, start=1):
        row = TrialOut.of(record)
        writer.writerow([_csv_value(getattr(row, column)) for column in CSV_COLUMNS])
        if number % ROWS_PER_CHUNK == 0:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def _csv_value(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return rfc3339(value)
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value  # or a spreadsheet would run what a server sent as a formula
    return value

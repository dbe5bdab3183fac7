"""Trials of a campaign: in pages as JSON, or all of them as CSV, JSON lines or Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from api import export
from api.container import Container, Wired
from api.routes.problems import INVALID, NOT_FOUND
from api.schemas.common import Page
from api.schemas.trials import TrialFilterQuery, TrialOut, TrialQuery

router = APIRouter(prefix="/campaigns/{campaign_id}", tags=["results"])

Filter = Annotated[TrialFilterQuery, Query()]


def _file(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    file = {200: {"description": "The file", "content": {media_type: {"schema": schema}}}}
    return {"response_class": StreamingResponse, "responses": {**file, **NOT_FOUND, **INVALID}}


@router.get("/trials", responses={**NOT_FOUND, **INVALID})
def list_trials(campaign_id: UUID, query: Annotated[TrialQuery, Query()], wired: Wired) -> Page[TrialOut]:
    """Trials by any of their properties; `next` of the last page seen is a place to go on from."""
    campaign = wired.campaigns.get(str(campaign_id))
    page = wired.results.trials(
        campaign.id,
        query.to_filter(),
        query.limit,
        query.cursor,
        query.order,
        descending=query.sort.startswith("-"),
    )
    return Page(items=[TrialOut.of(record) for record in page.items], next=page.next, total=page.total)


@router.get("/trials.csv", **_file("text/csv", {"type": "string"}))
def export_trials(campaign_id: UUID, query: Filter, wired: Wired) -> StreamingResponse:
    """Every trial (that fits) as CSV (RFC 4180), one line each, times in milliseconds."""
    return _download(wired, campaign_id, query, export.csv_lines, "csv", "text/csv; charset=utf-8; header=present")


@router.get("/trials.jsonl", **_file("application/jsonl", {"type": "string"}))
def export_trials_as_lines(campaign_id: UUID, query: Filter, wired: Wired) -> StreamingResponse:
    """Every trial (that fits) as JSON lines, each as in the list of trials."""
    return _download(wired, campaign_id, query, export.json_lines, "jsonl", "application/jsonl")


@router.get("/trials.parquet", **_file("application/vnd.apache.parquet", {"type": "string", "format": "binary"}))
def export_trials_as_parquet(campaign_id: UUID, query: Filter, wired: Wired) -> StreamingResponse:
    """Every trial (that fits) as Parquet; headers and proof are JSON in a column each."""
    media_type = "application/vnd.apache.parquet"
    return _download(wired, campaign_id, query, export.parquet, "parquet", media_type)


def _download(
    wired: Container,
    campaign_id: UUID,
    query: TrialFilterQuery,
    write: Callable[[Iterator[TrialOut]], Iterator[bytes]],
    ending: str,
    media_type: str,
) -> StreamingResponse:
    campaign = wired.campaigns.get(str(campaign_id))
    records = wired.results.all_trials(campaign.id, query.to_filter())
    return StreamingResponse(
        write(TrialOut.of(record) for record in records),
        media_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="lastbyte-{campaign.id}.{ending}"'},
    )

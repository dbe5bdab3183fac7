"""A campaign's progress as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse

from api.container import Wired
from api.events import Event, event_id, place_of
from api.routes.problems import INVALID, NOT_FOUND
from api.schemas.campaigns import CampaignOut
from api.schemas.cells import CellStatusOut

router = APIRouter(prefix="/campaigns/{campaign_id}", tags=["campaigns"])

LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", max_length=40, description="Id of the last event that was seen.")
]


EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": ["progress", "cell", "end"]},
        "id": {"type": "string"},
        "data": {"description": "The campaign, or for `cell` the cell, as JSON."},
    },
    "required": ["event", "id", "data"],
}


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The events", "content": {"text/event-stream": {"schema": EVENT}}},
        **NOT_FOUND,
        **INVALID,
    },
)
async def follow_campaign(
    campaign_id: UUID, request: Request, wired: Wired, last_event_id: LastEventId = None
) -> StreamingResponse:
    """Follow a campaign until it is over (server-sent events).

    `progress` carries the campaign, at first and whenever it changes; `cell` a cell that ended; `end` the campaign once
    it is over, after which the stream ends. With Last-Event-ID, cells that ended meanwhile come first. Comments keep
    idle connections open.
    """
    url = request.app.url_path_for("get_campaign", campaign_id=str(campaign_id))
    events = wired.events.listen(str(campaign_id), place_of(last_event_id) if last_event_id else None)
    first = await anext(events)  # raises what is wrong while there is still a status to say it with

    async def lines() -> AsyncIterator[str]:
        try:
            yield _lines(first, url)
            async for event in events:
                yield _lines(event, url)
        finally:
            await events.aclose()

    return StreamingResponse(
        lines(), media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


def _lines(event: Event | None, url: str) -> str:
    if event is None:
        return ": still here\n\n"
    if event.cell is not None:
        name, data = "cell", CellStatusOut.of(event.cell).model_dump_json()
    elif event.campaign is not None:
        name = "end" if event.is_last else "progress"
        data = CampaignOut.of(event.campaign, url).model_dump_json()
    else:
        name, data = "end", "null"
    return f"event: {name}\nid: {event_id(event.place)}\ndata: {data}\n\n"

"""Events of campaigns as they happen, for many listeners: one look at the database per campaign and second, shared."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lastbyte.domain.errors import InvalidInput, NotFound, StoreUnavailable
from lastbyte.ports import CampaignRecord, CampaignStore, CellEnd, CellReader, CellStatus

logger = logging.getLogger(__name__)

EVERY_S = 1.0
HEARTBEAT_S = 15.0
CELLS_AT_ONCE = 500
WAITING = 2000
"""Events that wait for one listener; one that is further behind is dropped, and comes back by Last-Event-ID."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    place: CellEnd | None
    """Where a listener that comes back goes on."""
    campaign: CampaignRecord | None = None
    """Its progress, if this is what happened."""
    cell: CellStatus | None = None
    """A cell that ended, if this is what happened."""
    is_last: bool = False
    """The campaign is over."""


@dataclass(eq=False, slots=True)
class _Watch:
    """A campaign that somebody listens to."""

    place: CellEnd | None
    seen: CampaignRecord
    queues: set[asyncio.Queue[Event | None]] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class CampaignEvents:
    """All campaigns that somebody listens to in this process; used from one event loop."""

    def __init__(self, campaigns: CampaignStore, cells: CellReader, every_s: float = EVERY_S) -> None:
        self._campaigns = campaigns
        self._cells = cells
        self._every_s = every_s
        self._watches: dict[str, _Watch] = {}
        self.looks = 0
        """How often the database was asked for news."""

    async def listen(self, campaign_id: str, last: CellEnd | None) -> AsyncGenerator[Event | None]:
        """Progress at once, then what happens until the campaign is over; None: nothing for a while.

        With ``last``, first the cells that ended since. Raises NotFound before the first event.
        """
        campaign = await asyncio.to_thread(self._campaigns.get, campaign_id)
        watch = self._watches.get(campaign_id)
        if watch is None:
            place = await asyncio.to_thread(self._cells.last_finished, campaign_id)
            watch = self._watches.setdefault(campaign_id, _Watch(place, campaign))
        queue: asyncio.Queue[Event | None] = asyncio.Queue(WAITING)
        watch.queues.add(queue)
        until = watch.place
        if watch.task is None:
            watch.task = asyncio.create_task(self._look(campaign_id, watch))
        try:
            async for event in self._missed(campaign_id, last, until):
                yield event
            yield Event(until, campaign=campaign)
            while True:
                news: Event | None = None
                try:
                    async with asyncio.timeout(HEARTBEAT_S):
                        news = await queue.get()
                except TimeoutError:
                    yield None
                    continue
                if news is None:
                    return
                yield news
                if news.is_last:
                    return
        finally:
            watch.queues.discard(queue)
            if not watch.queues:
                self._forget(campaign_id, watch)

    async def _missed(self, campaign_id: str, last: CellEnd | None, until: CellEnd | None) -> AsyncIterator[Event]:
        while last is not None and until is not None and _key(last) < _key(until):
            cells = await asyncio.to_thread(self._cells.finished, campaign_id, last, CELLS_AT_ONCE)
            for cell in cells:
                last = _end_of(cell)
                if _key(last) > _key(until):
                    return
                yield Event(last, cell=cell)
            if not cells:
                return

    async def _look(self, campaign_id: str, watch: _Watch) -> None:
        while True:
            try:
                over = await self._news(campaign_id, watch)
            except NotFound:  # deleted meanwhile
                over = True
                self._tell(watch, Event(watch.place, is_last=True))
            except StoreUnavailable as exc:
                logger.warning("no news of campaign %s: %s", campaign_id, exc)
                over = False
            if over:
                self._forget(campaign_id, watch)
                return
            await asyncio.sleep(self._every_s)

    async def _news(self, campaign_id: str, watch: _Watch) -> bool:
        """Tell what is new; True when the campaign is over."""
        self.looks += 1
        # the campaign first: cells that end after this look are found by the next, or the campaign was not over
        campaign = await asyncio.to_thread(self._campaigns.get, campaign_id)
        while True:
            cells = await asyncio.to_thread(self._cells.finished, campaign_id, watch.place, CELLS_AT_ONCE)
            for cell in cells:
                watch.place = _end_of(cell)
                self._tell(watch, Event(watch.place, cell=cell))
            if len(cells) < CELLS_AT_ONCE:
                break
        if campaign != watch.seen:
            watch.seen = campaign
            self._tell(watch, Event(watch.place, campaign=campaign))
        if campaign.state.is_over:
            self._tell(watch, Event(watch.place, campaign=campaign, is_last=True))
        return campaign.state.is_over

    def _tell(self, watch: _Watch, event: Event) -> None:
        for queue in list(watch.queues):
            try:
                queue.put_nowait(event)
            except asyncio.QueueFull:
                watch.queues.discard(queue)
                with suppress(asyncio.QueueEmpty):
                    queue.get_nowait()
                queue.put_nowait(None)

    def _forget(self, campaign_id: str, watch: _Watch) -> None:
        if self._watches.get(campaign_id) is watch:
            del self._watches[campaign_id]
        if watch.task is not None and watch.task is not asyncio.current_task():
            watch.task.cancel()


def event_id(place: CellEnd | None) -> str:
    """A place as the ``id`` of an event."""
    return "0-0" if place is None else f"{(place.finished_at - _EPOCH) // timedelta(microseconds=1)}-{place.cell_id}"


def place_of(last_event_id: str) -> CellEnd:
    """The reverse of ``event_id``; raises InvalidInput."""
    moment, _, cell = last_event_id.partition("-")
    if not (moment.isascii() and moment.isdigit() and cell.isascii() and cell.isdigit()) or len(last_event_id) > 40:
        raise InvalidInput("Last-Event-ID", "is none of ours.", "Send the id of the last event, unchanged.")
    try:
        return CellEnd(_EPOCH + timedelta(microseconds=int(moment)), min(int(cell), 2**63 - 1))
    except OverflowError as exc:
        raise InvalidInput("Last-Event-ID", "is none of ours.", "Send the id of the last event, unchanged.") from exc


def _end_of(cell: CellStatus) -> CellEnd:
    assert cell.finished_at is not None  # noqa: S101 - only such cells are asked for
    return CellEnd(cell.finished_at, cell.record.cell_id)


def _key(place: CellEnd) -> tuple[datetime, int]:
    return place.finished_at, place.cell_id

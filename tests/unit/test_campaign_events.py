"""Many listeners of one campaign cost the database no more than one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from api.events import CampaignEvents, Event, event_id, place_of
from lastbyte.domain.campaign import CampaignSpec, CampaignState
from lastbyte.ports import CampaignRecord, CampaignStore, CellEnd, CellReader, Progress

CAMPAIGN = CampaignRecord(
    id="c",
    spec=CampaignSpec("", (), (), (), 1, 1),
    state=CampaignState.RUNNING,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    started_at=None,
    finished_at=None,
    progress=Progress(1, 0, 1, 0, 0, 0.0, 1),
)


@dataclass
class Store:
    campaign: CampaignRecord = CAMPAIGN
    asked: int = 0

    def get(self, _campaign_id: str) -> CampaignRecord:
        self.asked += 1
        return self.campaign

    def finished(self, *_arguments: Any) -> list[Any]:
        return []

    def last_finished(self, _campaign_id: str) -> None:
        return None


def test_a_hundred_listeners_share_each_look() -> None:
    store = Store()
    events = CampaignEvents(cast("CampaignStore", store), cast("CellReader", store), every_s=0.01)

    async def listen() -> list[Event | None]:
        return [event async for event in events.listen("c", None)]

    async def all_of_them() -> list[list[Event | None]]:
        listening = [asyncio.create_task(listen()) for _ in range(100)]
        await asyncio.sleep(0.2)
        assert events.looks > 1
        store.campaign = replace(CAMPAIGN, state=CampaignState.DONE)
        return await asyncio.gather(*listening)

    heard = asyncio.run(all_of_them())
    assert all(one[-1] is not None and one[-1].is_last for one in heard)
    assert store.asked <= 100 + events.looks  # each asks once at its start, and none while it listens
    assert not events._watches


def test_ids_of_events_are_places() -> None:
    place = CellEnd(datetime(2026, 3, 1, 3, 15, 0, 123456, tzinfo=UTC), 17)
    assert place_of(event_id(place)) == place
    assert event_id(None) == "0-0"

"""Cells of campaigns with a higher priority are handed out first, and overtake others that wait in the broker."""

from __future__ import annotations

import json
from dataclasses import replace

from kombu.connection import Connection

from lastbyte.adapters.celery_queue import CeleryCellQueue
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.domain.campaign import Priority
from lastbyte.ports import CampaignPlan, OpenCell, queue_of
from tests.integration.samples import plan


def with_priority(priority: Priority) -> CampaignPlan:
    made = plan(endpoints=1)
    return replace(made, spec=replace(made.spec, priority=priority))


def test_the_store_names_the_most_urgent_first(campaigns: PostgresCampaignStore) -> None:
    for priority in (Priority.LOW, Priority.NORMAL, Priority.HIGH, Priority.NORMAL):
        ident = campaigns.create(with_priority(priority))
        assert campaigns.get(ident).spec.priority is priority
    found = campaigns.dispatchable_cells(10)
    assert [cell.priority for cell in found] == [Priority.HIGH, Priority.NORMAL, Priority.NORMAL, Priority.LOW]
    assert found[1].cell_id < found[2].cell_id, "the older first among equals"


def test_the_urgent_overtakes_what_waits_in_the_broker(embedded_valkey_url: str) -> None:
    queue = CeleryCellQueue(embedded_valkey_url)
    queue.enqueue([OpenCell(1, "x", Priority.LOW), OpenCell(2, "x"), OpenCell(3, "x")])
    queue.enqueue([OpenCell(4, "x", Priority.HIGH)])
    assert queue.depth("x") == 4
    with Connection(embedded_valkey_url) as connection:
        channel = connection.default_channel
        messages = [channel.basic_get(queue_of("x"), no_ack=True) for _ in range(4)]
    assert [json.loads(message.body)[0][0] for message in messages] == [4, 2, 3, 1]
    assert queue.depth("x") == 0

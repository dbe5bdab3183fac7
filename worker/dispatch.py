"""Bring cells that PostgreSQL says are left to do to the workers, when the broker does not hold them any more."""

from __future__ import annotations

from functools import lru_cache

from celery import current_app
from kombu import Connection

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.settings import settings
from worker.celery_app import MEASURE_TASK

BATCH = 200


@lru_cache(maxsize=1)
def _store() -> PostgresCampaignStore:
    return PostgresCampaignStore(make_engine(settings().database_url, "lastbyte dispatcher", pool_size=1))


def dispatch_pending_cells() -> int:
    """Send up to BATCH cells per vantage whose queue is empty; returns how many were sent.

    A cell that waits in a worker's prefetched message is sent once more at most: the next time its queue holds it.
    """
    sent = 0
    by_queue: dict[str, list[int]] = {}
    for cell in _store().dispatchable_cells(BATCH):
        by_queue.setdefault(cell.queue, []).append(cell.cell_id)
    if not by_queue:
        return 0
    with current_app.connection_for_write() as connection:
        for queue, cell_ids in by_queue.items():
            if _length(connection, queue) > 0:
                continue
            for cell_id in cell_ids:
                current_app.send_task(MEASURE_TASK, args=[cell_id], queue=queue, connection=connection)
            sent += len(cell_ids)
    return sent


def _length(connection: Connection, queue: str) -> int:
    return int(connection.default_channel.queue_declare(queue=queue).message_count)

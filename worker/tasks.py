"""Celery tasks: thin; the work is in ``lastbyte.services``."""

from __future__ import annotations

import structlog
from celery import shared_task

from lastbyte.domain.errors import Unavailable
from lastbyte.services.dispatch import dispatch_pending_cells
from lastbyte.services.measure_cell import measure_cell
from worker.celery_app import DISPATCH_TASK, MEASURE_TASK
from worker.lease import LEASE_S, LeaseKeeper
from worker.process import dispatcher_ports, measuring_process

log = structlog.get_logger()

PAUSE_AFTER_TROUBLE_S = 5.0
"""A cell that could not be measured comes back by the dispatcher; the pause keeps that from spinning."""


@shared_task(name=MEASURE_TASK)
def measure_cell_task(cell_id: int) -> None:
    """Measure what is left of one cell; harmless for one that is done, cancelled or held by another worker."""
    process = measuring_process()
    bench = process.begin_cell()

    def renew() -> bool:
        return process.store.extend_lease(cell_id, process.worker_id, LEASE_S)

    try:
        with LeaseKeeper(renew, on_lost=process.interrupt):
            done = measure_cell(cell_id, process.worker_id, process.store, bench, LEASE_S)
    except Unavailable as exc:
        process.note_trouble(str(exc))
        log.warning("cell handed back", cell_id=cell_id, reason=str(exc))
        process.shutdown.wait(PAUSE_AFTER_TROUBLE_S)
    except Exception:
        log.exception("cell handed back after an unexpected error", cell_id=cell_id)
        process.shutdown.wait(PAUSE_AFTER_TROUBLE_S)
        raise
    else:
        if done:
            process.note_trouble("")
            log.info("cell done", cell_id=cell_id)


@shared_task(name=DISPATCH_TASK)
def dispatch_task() -> None:
    """Send what PostgreSQL says is left to do to vantages whose queue is empty."""
    try:
        sent = dispatch_pending_cells(*dispatcher_ports())
    except Unavailable as exc:
        log.warning("nothing dispatched", reason=str(exc))
        return
    if sent:
        log.info("cells dispatched", count=sent)

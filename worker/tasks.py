"""Celery tasks: thin; the work is in ``lastbyte.services``."""

from __future__ import annotations

import structlog
from celery import shared_task

from lastbyte.domain.errors import Unavailable
from lastbyte.services.artifact_upkeep import tidy
from lastbyte.services.dispatch import dispatch_pending_cells
from lastbyte.services.measure_cell import measure_cell
from lastbyte.settings import settings, var_dir
from worker.celery_app import DISPATCH_TASK, MEASURE_TASK, PARTITIONS_TASK, SCHEDULES_TASK, TIDY_TASK
from worker.heartbeat import touch
from worker.lease import LeaseKeeper
from worker.process import dispatcher_ports, measuring_process, schedules, tidying, trial_partitions

log = structlog.get_logger()

RENEWALS = 4
"""How often a lease is renewed in its time; three in a row may fail."""
PAUSE_AFTER_TROUBLE_S = 5.0
"""A cell that could not be measured comes back by the dispatcher; the pause keeps that from spinning."""


@shared_task(name=MEASURE_TASK)
def measure_cell_task(cell_id: int, **_later: object) -> None:
    """Measure what is left of one cell; harmless for one that is done, cancelled or held by another worker.

    Arguments that a later version may send are passed over: what counts is in the database.
    """
    process = measuring_process()
    lease_s = settings().lease_s
    bench = process.begin_cell()

    def renew() -> bool:
        return process.store.extend_lease(cell_id, process.worker_id, lease_s)

    try:
        with process.measuring(cell_id), LeaseKeeper(renew, process.interrupt, lease_s / RENEWALS):
            done = measure_cell(cell_id, process.worker_id, process.store, bench, lease_s)
    except Unavailable as exc:
        process.note_trouble(str(exc))
        log.warning("cell handed back", cell_id=cell_id, reason=str(exc))
        process.shutdown.wait(PAUSE_AFTER_TROUBLE_S)
    except Exception as exc:
        log.exception("cell handed back after an unexpected error", cell_id=cell_id)
        process.store.note_crash(cell_id, f"{type(exc).__name__}: {exc}")
        process.shutdown.wait(PAUSE_AFTER_TROUBLE_S)
        raise
    else:
        if done:
            process.note_trouble("")
            log.info("cell done", cell_id=cell_id)
            process.own_disk.tidy_if_due()


@shared_task(name=DISPATCH_TASK)
def dispatch_task() -> None:
    """Send what PostgreSQL says is left to do to vantages whose queue is empty."""
    try:
        sent = dispatch_pending_cells(*dispatcher_ports())
    except Unavailable as exc:
        log.warning("nothing dispatched", reason=str(exc))
        return
    touch(var_dir() / "beat" / "alive")
    if sent:
        log.info("cells dispatched", count=sent)


@shared_task(name=PARTITIONS_TASK)
def keep_partitions_task() -> None:
    """Make the coming months of the table of trials, and drop those that need not be kept."""
    try:
        done = trial_partitions().keep(settings().trial_retention_days)
    except Unavailable as exc:
        log.warning("partitions not kept, tried again in an hour", reason=str(exc))
        return
    if done.made or done.dropped:
        log.info("partitions kept", made=done.made, dropped=list(done.dropped))


@shared_task(name=SCHEDULES_TASK)
def schedules_task() -> None:
    """Start the campaigns of schedules that are due; two of these at once start each of them once."""
    try:
        runs = schedules().tick()
    except Unavailable as exc:
        log.warning("no schedule started", reason=str(exc))
        return
    for run in runs:
        log.info(
            "schedule settled",
            schedule_id=run.schedule_id,
            due_at=run.due_at.isoformat(),
            outcome=run.outcome.value,
            campaign_id=run.campaign_id,
            reason=run.reason,
        )


@shared_task(name=TIDY_TASK)
def tidy_task() -> None:
    """Remove old artifacts, and files that crashes left."""
    try:
        expired, removed = tidy(*tidying())
    except (Unavailable, OSError) as exc:
        log.warning("artifacts not tidied", reason=str(exc))
        return
    if expired or removed:
        log.info("artifacts tidied", expired=expired, files_removed=removed)

"""What the measuring child of a worker holds for its whole life: engine, store, bench, and how it is interrupted."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from contextlib import ExitStack
from functools import lru_cache, partial

import structlog

from lastbyte import wiring
from lastbyte.adapters.celery_queue import CeleryCellQueue
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.ports import CampaignStore, CellQueue
from lastbyte.services.measure_cell import Bench
from lastbyte.settings import Settings, settings
from worker import shutdown
from worker.durable_store import DurableCellStore
from worker.heartbeat import Heartbeat, describe_vantage

log = structlog.get_logger()


class MeasuringProcess:
    """One path, one trial at a time. ``shutdown`` is the end of the process, ``interrupt`` the end of a cell."""

    def __init__(self, config: Settings) -> None:
        self.shutdown = threading.Event()
        self.worker_id = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._resources = ExitStack()
        self._stop_cell = threading.Event()
        self._engine = make_engine(config.database_url, f"lastbyte worker {config.vantage}", pool_size=3)
        self._resources.callback(self._engine.dispose)
        self.store = DurableCellStore(PostgresCellStore(self._engine, wiring.courtesy(config)), give_up=self.shutdown)
        self._bench = self._resources.enter_context(wiring.bench(self._stop_cell, config.box))
        describe = partial(
            describe_vantage,
            config.vantage,
            wiring.box_kind(config.box),
            self._bench.runner,
            wiring.clients(),
            self._bench.ceilings,
        )
        self._heartbeat = self._resources.enter_context(Heartbeat(PostgresVantageStore(self._engine), describe))

    def begin_cell(self) -> Bench:
        """The bench, ready for the next cell; already stopped when the process is shutting down."""
        if not self.shutdown.is_set():
            self._stop_cell.clear()
        return self._bench

    def interrupt(self) -> None:
        """End the cell under way; its running trial is cut short and thrown away."""
        self._stop_cell.set()
        self._bench.runner.terminate_current()

    def end(self) -> None:
        """The worker was told to stop: end the cell under way and take no other."""
        self.shutdown.set()
        self.interrupt()

    def note_trouble(self, reason: str) -> None:
        """Why this worker can't measure now, for the vantage's row; empty when it can."""
        self._heartbeat.note_trouble(reason)

    def close(self) -> None:
        """Remove the path and close the connections."""
        self._resources.close()


_process: MeasuringProcess | None = None


def start() -> None:
    """Called in the freshly forked child: nothing of the parent's connections is reused."""
    global _process  # noqa: PLW0603 - Celery gives its tasks no other place for a process-wide resource
    shutdown.die_with_parent()
    _process = MeasuringProcess(settings())
    shutdown.watch(_process.end)


def stop() -> None:
    """Called before the child exits."""
    if _process is not None:
        _process.close()


def measuring_process() -> MeasuringProcess:
    """This child's resources; made on first use where no fork happened."""
    if _process is None:
        start()
    assert _process is not None  # noqa: S101 - start() has just set it; for the type checker
    return _process


@lru_cache(maxsize=1)
def dispatcher_ports() -> tuple[CampaignStore, CellQueue]:
    """What the dispatcher needs, held for the life of its process."""
    config = settings()
    engine = make_engine(config.database_url, "lastbyte dispatcher", pool_size=1)
    return PostgresCampaignStore(engine), CeleryCellQueue(config.broker_url)

"""What the measuring child of a worker holds for its whole life: engine, store, bench, and how it is interrupted."""

from __future__ import annotations

import os
import signal
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from importlib.metadata import version

import structlog
from sqlalchemy import Engine

from lastbyte import wiring
from lastbyte.adapters.artifact_files import ArtifactFiles
from lastbyte.adapters.celery_queue import CeleryCellQueue
from lastbyte.adapters.postgres.artifact_store import PostgresArtifactStore
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.adapters.postgres.partitions import TrialPartitions
from lastbyte.adapters.postgres.schedule_store import PostgresScheduleStore
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.domain.addresses import AddressRule
from lastbyte.ports import ArtifactStore, CampaignStore, CellQueue, Worker
from lastbyte.services.campaigns import Campaigns
from lastbyte.services.measure_cell import Bench
from lastbyte.services.schedules import Schedules
from lastbyte.settings import Settings, settings, var_dir
from worker import shutdown
from worker.heartbeat import Heartbeat, describe_vantage
from worker.own_disk import OwnDisk
from worker.telemetry import PATH_UP, ObservedCellStore, serve

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
        self.store = ObservedCellStore(PostgresCellStore(self._engine, wiring.courtesy(config)), give_up=self.shutdown)
        files = wiring.artifact_files(config)
        self.own_disk = OwnDisk(PostgresArtifactStore(self._engine), files)
        self._bench = self._resources.enter_context(
            wiring.bench(
                self._stop_cell,
                config.box,
                files,
                AddressRule.parse(config.allowed_networks),
            )
        )
        describe = partial(
            describe_vantage,
            config.vantage,
            wiring.box_kind(config.box),
            self._bench.runner,
            wiring.clients(),
            self._bench.ceilings,
        )
        me = Worker(self.worker_id, version("lastbyte"), socket.gethostname(), os.getpid())
        alive_file = var_dir() / "worker" / "alive"
        self._heartbeat = self._resources.enter_context(
            Heartbeat(PostgresVantageStore(self._engine), me, describe, alive_file=alive_file)
        )

    def begin_cell(self) -> Bench:
        """The bench, ready for the next cell; already stopped when the process is shutting down."""
        if not self.shutdown.is_set():
            self._stop_cell.clear()
        return self._bench

    @contextmanager
    def measuring(self, cell_id: int) -> Iterator[None]:
        """While the block runs, the soft time limit (a SIGUSR1) ends the cell as a shutdown would: handed back."""
        signal.signal(signal.SIGUSR1, lambda _number, _frame: self.interrupt())
        self._heartbeat.note_cell(cell_id)
        try:
            yield
        finally:
            self._heartbeat.note_cell(None)

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
        PATH_UP.set(0 if reason else 1)
        self._heartbeat.note_trouble(reason)

    def close(self) -> None:
        """Remove the path and close the connections."""
        self._resources.close()


_process: MeasuringProcess | None = None


def start() -> None:
    """Called in the freshly forked child: nothing of the parent's connections is reused."""
    global _process  # noqa: PLW0603 - Celery gives its tasks no other place for a process-wide resource
    shutdown.die_with_parent()
    serve(settings())
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
    return PostgresCampaignStore(_control_engine()), CeleryCellQueue(config.broker_url)


@lru_cache(maxsize=1)
def trial_partitions() -> TrialPartitions:
    """The months of the table of trials."""
    return TrialPartitions(_control_engine())


@lru_cache(maxsize=1)
def _control_engine() -> Engine:
    return make_engine(settings().database_url, "lastbyte control", pool_size=1)


@lru_cache(maxsize=1)
def schedules() -> Schedules:
    """The use case of schedules, held for the life of the dispatcher's process."""
    config = settings()
    engine = _control_engine()
    campaigns = Campaigns(
        PostgresCampaignStore(engine),
        PostgresCatalogue(engine),
        PostgresVantageStore(engine),
        CeleryCellQueue(config.broker_url),
        config.vantage,
        config.trial_timeout_s,
    )
    return Schedules(PostgresScheduleStore(engine), campaigns)


@lru_cache(maxsize=1)
def tidying() -> tuple[ArtifactStore, ArtifactFiles, float]:
    """What keeping artifacts in order needs."""
    config = settings()
    return PostgresArtifactStore(_control_engine()), wiring.artifact_files(config), config.artifacts_days

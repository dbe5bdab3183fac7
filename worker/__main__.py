"""``python -m worker``: measure the cells of this vantage, one at a time, until SIGTERM."""

from __future__ import annotations

import os
import sys
import tempfile

from celery.signals import worker_process_init, worker_process_shutdown, worker_shutting_down

from lastbyte.ports import queue_of
from lastbyte.settings import settings, var_dir
from worker import logs, process, shutdown
from worker.celery_app import create_celery


@worker_process_init.connect
def _start_child(**_: object) -> None:
    process.start()


@worker_process_shutdown.connect
def _stop_child(**_: object) -> None:
    process.stop()


@worker_shutting_down.connect
def _tell_child(**_: object) -> None:
    shutdown.shutting_down.set()


def _keep_temporary_files_in_var() -> None:
    """The multiprocessing library makes a folder that kill -9 leaves behind; it shall not lie outside ``var``."""
    folder = var_dir() / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(folder)


def main() -> None:
    """Run a Celery worker with one child, because one path carries one trial at a time."""
    config = settings()
    logs.configure()
    _keep_temporary_files_in_var()
    app = create_celery(config)
    app.set_current()
    app.worker_main(
        [
            "worker",
            "--pool=prefork",
            "--concurrency=1",
            f"--queues={queue_of(config.vantage)}",
            f"--hostname=measure-{config.vantage}-{os.getpid()}@%h",
            "--without-gossip",
            "--without-mingle",
            "--loglevel=INFO",
            *sys.argv[1:],
        ]
    )


if __name__ == "__main__":
    main()

"""``python -m worker.beat``: the clock of the system and the small tasks it sets off, in one service."""

from __future__ import annotations

import sys

from lastbyte.settings import settings, var_dir
from worker import logs
from worker.celery_app import CONTROL_QUEUE, create_celery


def main() -> None:
    """Run Celery beat inside a worker of its own queue, so that long cells never hold up the dispatcher."""
    logs.configure("beat")
    app = create_celery(settings())
    app.set_current()
    (var_dir() / "beat").mkdir(parents=True, exist_ok=True)  # for the file that says it is alive
    app.worker_main(
        [
            "worker",
            "--beat",
            "--pool=solo",
            f"--queues={CONTROL_QUEUE}",
            "--hostname=control@%h",
            "--without-gossip",
            "--without-mingle",
            "--loglevel=WARNING",
            *sys.argv[1:],
        ]
    )


if __name__ == "__main__":
    main()

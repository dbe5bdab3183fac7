"""The Celery application: one queue per vantage, tasks acknowledged late, nothing kept in the broker.

PostgreSQL is the truth about what is left to do; a message only says "look at this cell". So a lost message costs
nothing (the dispatcher sends it again) and a doubled one finds its cell taken or done.
"""

from __future__ import annotations

import socket

from celery import Celery

from lastbyte.adapters.celery_queue import MEASURE_TASK
from lastbyte.settings import Settings

CONTROL_QUEUE = "control"
"""Queue of the dispatcher's own small tasks, apart from measuring ones, which run for minutes."""

DISPATCH_TASK = "worker.dispatch"
PARTITIONS_TASK = "worker.keep_partitions"
TIDY_TASK = "worker.tidy"

SCHEDULES_TASK = "worker.start_due_schedules"

__all__ = [
    "CONTROL_QUEUE",
    "DISPATCH_TASK",
    "MEASURE_TASK",
    "PARTITIONS_TASK",
    "SCHEDULES_TASK",
    "TIDY_TASK",
    "create_celery",
]

DISPATCH_EVERY_S = 2.0
PARTITIONS_EVERY_S = 3600.0
SCHEDULES_EVERY_S = 2.0
"""How late a schedule starts at most while nothing else is slow."""
TIDY_EVERY_S = 3600.0

VISIBILITY_TIMEOUT_S = 6 * 3600
"""Above the longest cell, or the broker would hand a running cell out again."""

BROKER_SILENT_S = 25
"""A broker that answers nothing for so long is gone, and is connected to anew; the kernel's default is hours."""

_KEEPALIVE = {
    socket.TCP_KEEPIDLE: 10,
    socket.TCP_KEEPINTVL: 5,
    socket.TCP_KEEPCNT: 3,
    socket.TCP_USER_TIMEOUT: BROKER_SILENT_S * 1000,
}


def create_celery(settings: Settings) -> Celery:
    """An application for the broker in ``settings``; opens no connection."""
    app = Celery("lastbyte", broker=settings.broker_url, include=["worker.tasks"])
    app.conf.update(
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": VISIBILITY_TIMEOUT_S,
            # the defaults restore a killed worker's messages only every 100 s
            "unacked_restore_interval": 2,
            "unacked_restore_throttle": 1,
            "socket_keepalive": True,
            "socket_keepalive_options": _KEEPALIVE,
        },
        # Remote control is unused, and its subscription is read without a limit: once its connection was lost, redis-py
        # connects anew within that read and waits there for a message that never comes, and the worker with it.
        worker_enable_remote_control=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        task_ignore_result=True,
        task_annotations={
            MEASURE_TASK: {
                "soft_time_limit": settings.cell_limit_s,  # the cell is handed back
                # kill -9 of a process that is stuck: its cell counts a crash
                "time_limit": settings.cell_limit_s + settings.trial_timeout_s + settings.cell_grace_s,
            }
        },
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        task_default_queue=CONTROL_QUEUE,
        timezone="UTC",
        beat_scheduler="worker.steady_beat:SteadyScheduler",
        beat_schedule={
            "dispatch": {"task": DISPATCH_TASK, "schedule": DISPATCH_EVERY_S, "options": {"expires": 10}},
            "partitions": {"task": PARTITIONS_TASK, "schedule": PARTITIONS_EVERY_S, "options": {"expires": 600}},
            "schedules": {"task": SCHEDULES_TASK, "schedule": SCHEDULES_EVERY_S, "options": {"expires": 10}},
            "tidy": {"task": TIDY_TASK, "schedule": TIDY_EVERY_S, "options": {"expires": 600}},
        },
    )
    return app

"""Cells to workers by Celery, by task name: the producer side, which never imports the worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from celery import Celery
from kombu.connection import Connection
from kombu.exceptions import ChannelError, KombuError
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from lastbyte.domain.campaign import Priority
from lastbyte.domain.errors import QueueUnavailable
from lastbyte.ports import OpenCell, queue_of

MEASURE_TASK = "worker.measure_cell"
TIMEOUT_S = 2.0
"""A broker that does not answer within this time counts as away; PostgreSQL remembers the work."""

_BROKER_PRIORITY = {Priority.HIGH: 0, Priority.NORMAL: 3, Priority.LOW: 6}
"""On Redis and Valkey the lowest number comes first; these are steps that every version's workers read."""


class CeleryCellQueue:
    """``lastbyte.ports.CellQueue`` on any broker that Celery speaks to."""

    def __init__(self, broker_url: str) -> None:
        self._app = Celery("lastbyte-api", broker=broker_url, set_as_current=False)
        self._app.conf.update(
            broker_transport_options={
                "socket_connect_timeout": TIMEOUT_S,
                "socket_timeout": TIMEOUT_S,
                "retry_on_timeout": False,
                "max_retries": 0,
            },
            broker_connection_timeout=TIMEOUT_S,
            task_ignore_result=True,
            task_publish_retry=False,
        )

    def enqueue(self, cells: Sequence[OpenCell]) -> None:
        """Send each cell to its vantage's queue; raises QueueUnavailable."""
        if not cells:
            return
        with self._connected() as connection:
            for cell in cells:
                self._app.send_task(
                    MEASURE_TASK,
                    args=[cell.cell_id],
                    queue=cell.queue,
                    priority=_BROKER_PRIORITY[cell.priority],
                    connection=connection,
                )

    def depth(self, vantage: str) -> int:
        """Messages that wait for the vantage; raises QueueUnavailable."""
        with self._connected() as connection:
            try:
                channel = connection.default_channel
                declared = channel.queue_declare(queue_of(vantage), passive=True)  # type: ignore[no-untyped-call]
                return int(declared.message_count)
            except ChannelError:  # nothing was ever sent there
                return 0

    def ping(self) -> None:
        """Raises QueueUnavailable when the broker does not answer."""
        with self._connected():
            pass

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=TIMEOUT_S)
                _ = connection.default_channel  # the Redis transport connects, and pings, only here
                yield connection
        except (BrokerError, KombuError, RedisError, OSError) as exc:
            raise QueueUnavailable(f"The broker can't be reached: {exc}") from exc

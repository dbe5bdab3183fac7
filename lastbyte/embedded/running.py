"""One embedded server for the length of a ``with`` block, for tests, benches and one-shot tools."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lastbyte.domain.errors import Unavailable
from lastbyte.embedded.logs import tail
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.valkey import Valkey

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 10.0


@contextmanager
def running_postgres(server: Postgres, log: Path) -> Iterator[Postgres]:
    """``server`` started and taking connections; a fast shutdown at the end."""
    server.prepare()
    with _running("PostgreSQL", server.command(), server.ready, log, signal.SIGINT):
        yield server


@contextmanager
def running_valkey(server: Valkey, log: Path) -> Iterator[Valkey]:
    """``server`` started and answering; its data are saved at the end."""
    server.prepare()
    with _running("Valkey", server.command(), server.ready, log, signal.SIGTERM):
        yield server


@contextmanager
def _running(
    name: str, argv: Sequence[str], ready: Callable[[], bool], log: Path, stop: signal.Signals
) -> Iterator[None]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise Unavailable(f"{name} did not start; the end of {log}:\n{tail(log)}")
            time.sleep(0.01)
        yield
    finally:
        if process.poll() is None:
            process.send_signal(stop)
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

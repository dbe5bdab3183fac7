"""An API process of its own on a given database, and how long it takes to answer."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import httpx

_START_LIMIT_S = 180.0


def free_port() -> int:
    """A TCP port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(application: str) -> Iterator[str]:
    """The URL of an application that uvicorn serves in a process of its own, without a line per request."""
    port = free_port()
    options = ["--no-access-log", "--log-level", "warning", "--ws", "none"]
    with _answering([sys.executable, "-m", "uvicorn", application, "--port", str(port), *options], {}, port) as url:
        yield url


@contextmanager
def serving_api(database_url: str, broker_url: str = "redis://127.0.0.1:1/0") -> Iterator[str]:
    """The REST API on this database, as ``lastbyte up`` has it served: with a log line per request in a file."""
    port = free_port()
    environment = {
        "LASTBYTE_DATABASE_URL": database_url,
        "LASTBYTE_BROKER_URL": broker_url,
        "LASTBYTE_API_PORT": str(port),
    }
    with _answering([sys.executable, "-m", "api"], environment, port) as url:
        yield url


@contextmanager
def _answering(argv: list[str], environment: Mapping[str, str], port: int) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            argv, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            _wait_for(f"{url}/healthz", process)
            yield url
        finally:
            process.terminate()
            process.wait(30)


def times_ms(call: Callable[[str], object], arguments: Iterable[str]) -> list[float]:
    """Milliseconds of each call."""
    found = []
    for argument in arguments:
        started = time.perf_counter()
        call(argument)
        found.append((time.perf_counter() - started) * 1000)
    return found


def p95(values: list[float]) -> float:
    """95th percentile; of few values never beyond the largest, as the default method would go."""
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        try:
            if httpx.get(url).status_code == httpx.codes.OK:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"{url} did not answer within {_START_LIMIT_S:g} s")

"""What a running lastbyte consists of: its processes, what each needs, and in which order they stop."""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lastbyte.embedded.child import Child
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.processes import start_time, tied_to_parent
from lastbyte.embedded.valkey import Valkey

_HTTP_TIMEOUT_S = 1.0

_DATABASES, _TESTBED, _SERVICES = 0, 1, 2
"""Stopping stages: services first, so that a worker can still hand its trial back to the database."""


@dataclass(frozen=True)
class Plan:
    """What a person asked ``lastbyte up`` for."""

    var: Path
    api_port: int = 8000
    dashboard_port: int = 8050
    testbed: bool = True
    worker: bool = True
    api_host: str = "127.0.0.1"
    """Address that the API listens on; the dashboard, which asks nobody who they are, stays on loopback."""

    @property
    def api_connect_host(self) -> str:
        """Address at which this machine itself reaches the API."""
        return "127.0.0.1" if self.api_host == "0.0.0.0" else self.api_host  # noqa: S104 - compared, not bound

    @property
    def api_url(self) -> str:
        """Base URL of the REST API."""
        return f"http://{self.api_connect_host}:{self.api_port}"

    @property
    def dashboard_url(self) -> str:
        """URL of the dashboard."""
        return f"http://127.0.0.1:{self.dashboard_port}"


def children(plan: Plan) -> list[Child]:
    """The processes of a system, those on the longest way to the first result first.

    A database or broker that the environment names (LASTBYTE_DATABASE_URL, LASTBYTE_BROKER_URL) is used, not started.
    """
    found: list[Child] = []
    database_url, broker_url = os.environ.get("LASTBYTE_DATABASE_URL"), os.environ.get("LASTBYTE_BROKER_URL")
    if not database_url:
        postgres = Postgres.under(plan.var)
        database_url = postgres.url()
        found.append(_postgres(postgres))
    if not broker_url:
        valkey = Valkey.under(plan.var)
        broker_url = valkey.url()
        found.append(_valkey(valkey))
    stores = tuple(child.name for child in found)
    environment = {
        "LASTBYTE_DATABASE_URL": database_url,
        "LASTBYTE_BROKER_URL": broker_url,
        "LASTBYTE_API_URL": plan.api_url,
        "LASTBYTE_API_HOST": plan.api_host,
        "LASTBYTE_API_PORT": str(plan.api_port),
        "LASTBYTE_DASHBOARD_PORT": str(plan.dashboard_port),
        "LASTBYTE_VAR": str(plan.var),
        "PYTHONUNBUFFERED": "1",
    }
    found.append(
        Child(
            "dashboard",
            lambda: _python("dashboard"),
            ready=lambda: answers(plan.dashboard_port, "/"),
            environment=environment,
            stage=_SERVICES,
        )
    )
    found.append(
        Child("migrations", lambda: _python("migrations", "upgrade"), needs=stores, environment=environment, once=True)
    )
    if plan.testbed:
        found.append(_testbed(plan.var, environment))
    found.append(
        Child(
            "api",
            lambda: _python("api"),
            ready=lambda: answers(plan.api_port, "/readyz", plan.api_connect_host),
            needs=("migrations",),
            environment=environment,
            stage=_SERVICES,
        )
    )
    if plan.worker:
        found.append(_worker(plan.var, environment))
    found.append(
        Child("beat", lambda: _python("worker.beat"), needs=("api",), environment=environment, stage=_SERVICES)
    )
    return found


def answers(port: int, path: str, host: str = "127.0.0.1") -> bool:
    """Whether a local HTTP server answers ``path`` with 200."""
    connection = http.client.HTTPConnection(host, port, timeout=_HTTP_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def is_testbed_running(var: Path) -> bool:
    """Whether ``testbed.json`` names a process that lives; start times tell it from a later one with the same id."""
    try:
        facts = json.loads((var / "testbed.json").read_text(encoding="utf-8"))
        return start_time(int(facts["pid"])) == int(facts["start_time"])
    except (OSError, ValueError, KeyError):
        return False


class LogWatch:
    """Ready when a phrase turns up in a log after the newest start: for programs that say it nowhere else."""

    def __init__(self, log: Path, phrase: bytes) -> None:
        self._log = log
        self._phrase = phrase
        self._from = 0

    def mark(self) -> None:
        """What is in the log now was written by an earlier start."""
        self._from = self._log.stat().st_size if self._log.exists() else 0

    def seen(self) -> bool:
        """Whether the phrase came since the mark."""
        with self._log.open("rb") as file:
            file.seek(self._from)
            return self._phrase in file.read()


def _python(module: str, *arguments: str) -> list[str]:
    return tied_to_parent([sys.executable, "-m", module, *arguments], signal.SIGKILL)


def _postgres(server: Postgres) -> Child:
    return Child(
        "postgres",
        server.command,
        title=f"postgres {server.program.version}",
        prepare=server.prepare,
        ready=server.ready,
        settle=server.ensure_database,
        stage=_DATABASES,
        stop_signal=signal.SIGINT,  # fast shutdown: ends sessions, writes a checkpoint
    )


def _valkey(server: Valkey) -> Child:
    return Child(
        "valkey",
        server.command,
        title=f"valkey {server.program.version}",
        prepare=server.prepare,
        ready=server.ready,
        stage=_DATABASES,
    )


def _testbed(var: Path, environment: Mapping[str, str]) -> Child:
    return Child(
        "testbed",
        lambda: _python("testbed"),
        ready=lambda: is_testbed_running(var),
        environment=environment,
        essential=False,
        stage=_TESTBED,
    )


def _worker(var: Path, environment: Mapping[str, str]) -> Child:
    watch = LogWatch(var / "log" / "worker.log", b"ready.")
    return Child(
        "worker",
        lambda: _python("worker"),
        prepare=watch.mark,
        ready=watch.seen,
        needs=("api",),  # people look at API and dashboard first; started together, all would be slower
        environment=environment,
        essential=False,
        stage=_SERVICES,
        stop_timeout_s=8.0,  # it ends the trial under way and hands its cell back
    )

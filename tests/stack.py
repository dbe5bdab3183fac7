"""The whole system as a user starts it (``lastbyte up``), for end-to-end and chaos tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

T = TypeVar("T")

START_LIMIT_S = 240.0
STOP_LIMIT_S = 60.0


class Stack:
    """A running system in a folder of its own."""

    def __init__(self, *options: str, var: Path | None = None, prefix: Sequence[str] = ()) -> None:
        """``prefix`` goes before the command, and must end by becoming it."""
        self._prefix = prefix
        self._own_var = var is None
        self.var = var or Path(tempfile.mkdtemp(prefix="lb-"))
        self.api_port, self.dashboard_port = _free_port(), _free_port()
        self.api_url = f"http://127.0.0.1:{self.api_port}"
        self.dashboard_url = f"http://127.0.0.1:{self.dashboard_port}"
        self._options = options
        self.process: subprocess.Popen[bytes] | None = None
        self.output = self.var / "up.log"
        self.http = httpx.Client(base_url=f"{self.api_url}/api/v1", timeout=30)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.http.close()
        if self._own_var:
            shutil.rmtree(self.var, ignore_errors=True)

    def start(self) -> None:
        """Start and wait until everything answers."""
        command = [
            *self._prefix,
            str(Path(sys.executable).with_name("lastbyte")),
            "up",
            f"--var={self.var}",
            f"--api-port={self.api_port}",
            f"--dashboard-port={self.dashboard_port}",
            *self._options,
        ]
        self.var.mkdir(parents=True, exist_ok=True)
        with self.output.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ}
            )
        try:
            self.until(self._answers, "the system to answer", START_LIMIT_S)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> int:
        """Ctrl-C, and wait for the end; the exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"did not stop within {STOP_LIMIT_S} s\n{self.tail()}") from None
        return self.process.returncode

    def kill(self) -> None:
        """Kill -9 of the supervisor alone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def tail(self) -> str:
        """The last lines of what the system printed and logged."""
        files = [self.output, *sorted((self.var / "log").glob("*.log"))]
        return "\n".join(f"--- {f.name}\n{f.read_text(errors='replace')[-3000:]}" for f in files if f.exists())

    def post(self, **body: Any) -> dict[str, Any]:
        """Create a campaign."""
        answer = self.http.post("/campaigns", json=body)
        assert answer.status_code == 201, answer.text
        result: dict[str, Any] = answer.json()
        return result

    def campaign(self, ident: str) -> dict[str, Any]:
        """One campaign with its progress."""
        answer = self.http.get(f"/campaigns/{ident}")
        answer.raise_for_status()
        result: dict[str, Any] = answer.json()
        return result

    def wait_done(self, ident: str, limit_s: float = 180.0) -> dict[str, Any]:
        """Wait until a campaign is over."""

        def over() -> dict[str, Any] | None:
            try:
                found = self.campaign(ident)
            except httpx.HTTPError:
                return None  # the database may be down on purpose
            return found if found["state"] in ("done", "cancelled") else None

        return self.until(over, f"campaign {ident} to end", limit_s)

    def trials(self, ident: str, **filters: str) -> list[dict[str, Any]]:
        """All trials of a campaign, page by page."""
        return self._pages(f"/campaigns/{ident}/trials", filters)

    def artifacts(self, ident: str) -> list[dict[str, Any]]:
        """All artifacts of a campaign, page by page."""
        return self._pages(f"/campaigns/{ident}/artifacts", {})

    def _pages(self, path: str, filters: dict[str, str]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        cursor = None
        while True:
            params = {"limit": "500", **filters, **({"cursor": cursor} if cursor else {})}
            answer = self.http.get(path, params=params)
            answer.raise_for_status()
            page = answer.json()
            items += page["items"]
            cursor = page["next"]
            if not cursor:
                return items

    def heatmap(self, ident: str, **params: str) -> dict[str, Any]:
        """The heatmap of a campaign."""
        answer = self.http.get(f"/campaigns/{ident}/heatmap", params=params)
        answer.raise_for_status()
        result: dict[str, Any] = answer.json()
        return result

    def until(self, check: Callable[[], T | None], what: str, limit_s: float) -> T:
        """Poll ``check`` until it gives something."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"`lastbyte up` ended with {self.process.returncode}\n{self.tail()}")
            found = check()
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"waited {limit_s} s for {what}\n{self.tail()}")

    def _answers(self) -> bool:
        try:
            ready = httpx.get(f"{self.api_url}/readyz").status_code == 200
            return ready and httpx.get(self.dashboard_url).status_code == 200
        except httpx.HTTPError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

"""Chromium, and pages that must stay free of errors."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.stack import Stack

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = os.environ.get("LASTBYTE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.fail("There is no Chromium here. Install Debian's package chromium, or set LASTBYTE_CHROMIUM.")
    expect.set_options(timeout=45_000)  # a page asks for news every two seconds, and the machine is busy measuring
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages; at the end of the test none may have logged an error or asked another host."""
    errors: list[str] = []
    contexts = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(f"console: {message.text}")

    def opened(url: str, **options: Any) -> Page:
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "timezone_id": "Europe/Berlin", **options}
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(f"exception: {error}"))
        page.on(
            "request",
            lambda r: None if r.url.startswith(("http://127.0.0.1:", "data:", "blob:")) else errors.append(r.url),
        )
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture(scope="session")
def measured(stack: Stack) -> dict[str, Any]:
    """A small campaign with verdicts, a delay row and a condition outside the grids, all measured."""
    created = stack.post(
        name="two conditions",
        endpoints=["testbed-caddy-100KB"],
        profiles=["baseline", "delay-50", "unshaped"],
        clients=["curl-quiche-h2", "curl-quiche-h3"],
        rounds=6,
        seed=1,
    )
    return stack.wait_done(created["id"], limit_s=300)


class Forwarder:
    """A TCP relay to the API that can go away and come back on the same port, as a restarted API does."""

    def __init__(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._listener: socket.socket | None = None
        self._pairs: list[socket.socket] = []
        self.port = 0
        self.delay_s = 0.0
        """Held up before each piece of an answer."""

    def up(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen()
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def down(self) -> None:
        for sock in (self._listener, *self._pairs):
            if sock is not None:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)  # its thread closes it
        self._pairs.clear()

    def _accept(self, listener: socket.socket) -> None:
        with listener, suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        with near, suppress(OSError), socket.create_connection(self._target) as far:
            self._pairs += [near, far]
            answers = threading.Thread(target=self._pump, args=(far, near, self.delay_s), daemon=True)
            answers.start()
            self._pump(near, far, 0.0)
            answers.join()

    def _pump(self, source: socket.socket, sink: socket.socket, delay_s: float) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                time.sleep(delay_s)
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def dashboard_on(api_port: int) -> Iterator[str]:
    """A dashboard process of its own for an API on another port; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **os.environ,
        "LASTBYTE_API_URL": f"http://127.0.0.1:{api_port}",
        "LASTBYTE_DASHBOARD_PORT": str(port),
        "LASTBYTE_DASHBOARD_WORKERS": "1",
    }
    with subprocess.Popen([sys.executable, "-m", "dashboard"], env=env) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 20
            while not _answers(url):
                assert time.monotonic() < deadline, "the dashboard did not start"
                time.sleep(0.05)
            yield url
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.HTTPError:
        return False

"""Chromium as a client; skipped where the program or the browser is not installed."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lastbyte.adapters.program_client import ProgramClientRunner
from lastbyte.domain.client import Client
from lastbyte.domain.trial import FailureKind
from testbed.catalogue import DIGESTS
from testbed.state import TestbedState
from tests.integration.clients.browsers import (
    LIMIT_S,
    await_nothing_left,
    browsers_in,
    keeping_in,
    short_folder,
    skip_without_chromium,
)
from tests.integration.clients.conftest import Run

HOST = "testbed-nginx.test"


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        yield made


@pytest.fixture(autouse=True)
def _installed(shipped: dict[str, Client]) -> None:
    skip_without_chromium(shipped)


@pytest.mark.parametrize("client_id", ["chromium-h2", "chromium-h3"])
def test_a_fresh_browser_fetches_over_its_protocol_and_says_when(
    run: Run, testbed: TestbedState, shipped: dict[str, Client], tmp_path: Path, client_id: str
) -> None:
    keys, client = tmp_path / "keys", shipped[client_id]
    client = dataclasses.replace(client, env={**client.env, "SSLKEYLOGFILE": str(keys)})
    seen = run(client, HOST, size=100_000, timeout_s=LIMIT_S)
    assert seen.failure is None
    assert seen.timings is not None
    assert seen.timings.handshake_s is not None
    assert seen.timings.ttfb_s is not None
    assert 0 < seen.timings.handshake_s < seen.timings.ttfb_s < seen.timings.ttlb_s < seen.elapsed_s
    assert (seen.http_status, seen.http_version, seen.body_bytes) == (200, client_id[-1], 100_000)
    assert seen.remote_address == testbed.address_of(HOST)
    assert seen.body_sha256 == DIGESTS["100KB"]
    assert seen.headers["x-tls-resumed"] == "no"
    assert seen.headers["x-connection-requests"] == "1"
    assert seen.tls is not None
    assert seen.tls.group == seen.headers["x-tls-group"]
    assert "SERVER_TRAFFIC_SECRET_0" in keys.read_text()


@pytest.mark.parametrize("client_id", ["chromium-h2", "chromium-h3"])
def test_a_certificate_by_an_unknown_authority_is_a_failure(
    run: Run, shipped: dict[str, Client], client_id: str
) -> None:
    seen = run(dataclasses.replace(shipped[client_id], ca_argv=()), HOST, timeout_s=LIMIT_S)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.TLS


@pytest.mark.parametrize("grace_s", [0.4, 60.0], ids=["killed", "by itself"])
def test_a_browser_past_its_limit_is_gone_with_all_its_processes_and_its_profile(
    run: Run,
    testbed: TestbedState,
    shipped: dict[str, Client],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    grace_s: float,
) -> None:
    monkeypatch.setattr("lastbyte.adapters.program_client.GRACE_S", grace_s)
    seen = run(keeping_in(shipped["chromium-h3"], folder), HOST, timeout_s=0.01)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.TIMEOUT
    await_nothing_left(testbed.netns, folder)


def test_a_killed_client_takes_a_browser_along_that_does_nothing_any_more(
    runner: ProgramClientRunner, run: Run, testbed: TestbedState, shipped: dict[str, Client], folder: Path
) -> None:
    def stop_then_kill() -> None:
        for _ in range(600):
            if stopped := browsers_in(testbed.netns, "--remote-debugging-pipe"):
                for process in stopped:
                    os.kill(process, signal.SIGSTOP)
                break
            time.sleep(0.05)
        runner.terminate_current()

    with ThreadPoolExecutor(1) as other:
        done = other.submit(stop_then_kill)
        seen = run(keeping_in(shipped["chromium-h2"], folder), "testbed-silent.test", timeout_s=LIMIT_S)
        done.result()
    assert seen.failure is not None
    assert "ended by the worker" in seen.failure.detail
    await_nothing_left(testbed.netns, folder)

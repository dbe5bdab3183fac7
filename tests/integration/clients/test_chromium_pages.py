"""Whole pages in Chromium: a real link, and all that can go wrong; skipped where it is not installed."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import EndpointKind
from lastbyte.domain.trial import FailureKind
from testbed.pages import SHAPES, files_of
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
PAGE = "/testbed-nginx-page-small.html"
BODY_BYTES = sum(map(len, files_of("testbed-nginx", HOST, SHAPES[0]).values()))


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        yield made


@pytest.fixture(autouse=True)
def _installed(shipped: dict[str, Client]) -> None:
    skip_without_chromium(shipped)


def measured(folder: Path) -> list[dict[str, Any]]:
    """Trials of both arms over the shaped link, the last round of them watched.

    At 120 ms, of which the tolerance is a share: a link that a busy machine puts out of it has no watched round.
    """
    command = [str(Path(sys.executable).with_name("lastbyte")), "measure", f"https://{HOST}{PAGE}", "-n", "1"]
    command += ["-p", "delay-100", "-c", "chromium", "--capture", "last-round", "-d", str(folder)]
    environment = {**os.environ, "LASTBYTE_VAR": str(folder / "var"), "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    (file,) = folder.glob("*.json")
    (profile,) = json.loads(file.read_text())["profiles"]
    trials: list[dict[str, Any]] = profile["trials"]
    return trials


def test_a_page_over_a_shaped_link_is_told_whole_and_leaves_a_har(tmp_path: Path) -> None:
    trials = measured(tmp_path)
    assert len(trials) == 6
    for trial in trials:
        seen, protocol = trial["observation"], trial["client_id"].removeprefix("chromium-")
        page, timings = seen["page"], seen["timings"]
        assert seen["failure"] is None
        assert page["protocols"] == {protocol: 18}
        assert (page["resources"], page["hosts"], page["failed_resources"], page["blocked_hosts"]) == (18, 3, 0, [])
        assert page["body_bytes"] == seen["body_bytes"] == BODY_BYTES < page["transferred_bytes"]
        assert 1 <= page["connections"] <= 3
        # 400 KB take 0.32 s at 10 Mbit/s, and the handshake a round trip of 120 ms at least
        assert 0.12 < timings["handshake_s"] < timings["ttfb_s"] < page["fcp_s"] <= page["lcp_s"]
        assert 0.33 < timings["ttlb_s"] <= page["load_s"]
        assert bool(trial["artifacts"]) == (trial["round_index"] < 0)
    hars = sorted((tmp_path / "captures").glob("*.har"))
    assert [file.name.split("_")[2] for file in hars] == ["chromium-h2", "chromium-h3"]
    for file in hars:
        log = json.loads(file.read_text())["log"]
        entries = log["entries"]
        assert len(entries) == 18
        assert {entry["request"]["httpVersion"] for entry in entries} == {
            file.name.split("_")[2].removeprefix("chromium-")
        }
        assert sum(entry["response"]["content"]["size"] for entry in entries) == BODY_BYTES
        assert all(entry["timings"]["receive"] >= 0 and entry["time"] > 0 for entry in entries)
        assert log["pages"][0]["pageTimings"]["onLoad"] > 330


def test_a_page_that_never_fires_load_is_a_time_out_that_names_what_it_waits_for(
    run: Run, testbed: TestbedState, shipped: dict[str, Client], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastbyte.adapters.program_client.GRACE_S", LIMIT_S)
    client = keeping_in(shipped["chromium-h2"], folder)
    seen = run(client, "testbed-faults.test", "/never-loads.html", kind=EndpointKind.PAGE, timeout_s=4.0)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.TIMEOUT
    assert "no load event within 4 s" in seen.failure.detail
    assert "stall.bin" in seen.failure.detail
    await_nothing_left(testbed.netns, folder)


def test_a_browser_that_is_killed_midway_is_a_crash_and_leaves_nothing(
    run: Run, testbed: TestbedState, shipped: dict[str, Client], folder: Path
) -> None:
    def kill() -> bool:
        for _ in range(2000):
            if found := browsers_in(testbed.netns, "--remote-debugging-pipe"):
                time.sleep(1)  # the page is under way then, or about to be
                os.kill(found[0], signal.SIGKILL)
                return True
            time.sleep(0.05)
        return False

    client = keeping_in(shipped["chromium-h3"], folder)
    with ThreadPoolExecutor(1) as other:
        done = other.submit(kill)
        seen = run(client, "testbed-faults.test", "/never-loads.html", kind=EndpointKind.PAGE, timeout_s=LIMIT_S)
        assert done.result(), "no browser came up"
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.CLIENT_CRASH
    await_nothing_left(testbed.netns, folder)


def test_a_page_over_the_other_protocol_does_not_count(run: Run, shipped: dict[str, Client]) -> None:
    asks_for_h3 = [word for word in shipped["chromium-h3"].argv if word != "{url}"]
    argv = (*asks_for_h3, "--speak", "h2", "{url}")
    client = dataclasses.replace(shipped["chromium-h3"], argv=argv)
    assert client.protocol is Protocol.H3
    seen = run(client, HOST, PAGE, kind=EndpointKind.PAGE, timeout_s=LIMIT_S)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.PROTOCOL
    assert "0 of 18 resources (0%) came over h3, at least 90% must" in seen.failure.detail
    assert seen.page is not None
    assert seen.page.share("h2") == 1

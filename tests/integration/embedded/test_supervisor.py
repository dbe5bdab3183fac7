"""The supervisor with real children: it starts, mends and stops, and leaves nothing behind however it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.processes import alive, processes_in
from lastbyte.embedded.supervisor import SAME_WISH_S

SCRIPT = Path(__file__).with_name("small_system.py")
Start = Callable[..., subprocess.Popen[str]]


def until(condition: Callable[[], object], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def lines_until(process: subprocess.Popen[str], phrase: str) -> str:
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if phrase in line:
            return seen
    raise AssertionError(f"{phrase!r} never came:\n{seen}")


def processes(folder: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((folder / "processes.json").read_text())
    return found


def in_group(group: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and alive(int(entry.name)):
            try:
                if os.getpgid(int(entry.name)) == group:
                    found.append(int(entry.name))
            except ProcessLookupError:
                continue
    return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(case: str = "all-well") -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(tmp_path), case],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_starts_in_order_of_need_and_sigterm_stops_all_with_data_kept(tmp_path: Path, start: Start) -> None:
    system = start()
    shown = lines_until(system, "UP")
    order = [
        line.split()[0] for line in shown.splitlines() if " ready " in line or " done " in line or "started" in line
    ]
    assert set(order[:2]) == {"postgres", "valkey"}
    assert order[2:] == ["migrations", "service"]
    running = processes(tmp_path)
    with psycopg.connect(host=str(tmp_path / "run"), user="postgres", dbname="lastbyte", autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    began = time.monotonic()
    system.send_signal(signal.SIGTERM)
    assert system.wait(60) == 0
    assert time.monotonic() - began < 5
    assert not any(alive(pid) or in_group(pid) for pid in running.values())
    assert "database system is shut down" in (tmp_path / "log" / "postgres.log").read_text()

    lines_until(start(), "UP")
    with psycopg.connect(host=str(tmp_path / "run"), user="postgres", dbname="lastbyte", autocommit=True) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)


@pytest.mark.parametrize("victim", ["postgres", "valkey", "service"])
def test_a_killed_child_comes_back_by_itself(tmp_path: Path, start: Start, victim: str) -> None:
    system = start()
    lines_until(system, "UP")
    before = processes(tmp_path)
    os.kill(before[victim], signal.SIGKILL)
    shown = lines_until(system, "is back")
    assert f"{victim} was ended by SIGKILL" in shown
    until(lambda: processes(tmp_path).get(victim, before[victim]) != before[victim])
    after = processes(tmp_path)
    assert {name: pid for name, pid in after.items() if name != victim} == {
        name: pid for name, pid in before.items() if name != victim
    }
    assert not in_group(before[victim])


def test_kill_9_of_the_supervisor_leaves_no_process(tmp_path: Path, start: Start) -> None:
    system = start()
    lines_until(system, "UP")
    running = processes(tmp_path)
    until(lambda: len(in_group(running["service"])) == 2)
    system.kill()
    until(lambda: not any(in_group(pid) for pid in running.values()), timeout_s=8)
    until(lambda: not processes_in(tmp_path / "postgres"))
    until(lambda: not subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, check=False).stdout)
    lines_until(start(), "UP")


def test_second_system_over_the_same_folder_is_refused(tmp_path: Path, start: Start) -> None:
    first = start()
    lines_until(first, "UP")
    second = start()
    shown = lines_until(second, "failed:")
    assert second.wait(40) == 1
    assert f"lastbyte runs already over {tmp_path} (process {first.pid})" in shown
    assert first.poll() is None


def test_an_optional_child_that_fails_is_reported_once_and_the_rest_runs(start: Start) -> None:
    shown = lines_until(start("optional-fails"), "UP")
    assert len(re.findall(r"extra does not start, the rest goes on without it: no TUN device", shown)) == 1


@pytest.mark.parametrize(
    ("case", "reason"), [("essential-fails", "cannot import api"), ("migration-fails", "bad revision")]
)
def test_an_essential_child_that_fails_stops_the_start_with_the_end_of_its_log(
    tmp_path: Path, start: Start, case: str, reason: str
) -> None:
    system = start(case)
    assert system.stdout is not None
    shown = system.stdout.read()
    assert system.wait(60) == 1
    assert "failed: " in shown
    assert reason in shown
    assert not processes(tmp_path)
    assert not Postgres.under(tmp_path).ready()


def test_a_second_signal_kills_what_does_not_stop(tmp_path: Path, start: Start) -> None:
    system = start("stubborn")
    lines_until(system, "UP")
    running = processes(tmp_path)
    system.send_signal(signal.SIGINT)
    system.send_signal(signal.SIGINT)  # what sudo adds to a Ctrl-C
    lines_until(system, "stopping")
    time.sleep(SAME_WISH_S + 0.1)
    assert alive(running["stubborn"])
    system.send_signal(signal.SIGINT)
    system.wait(40)
    assert not any(alive(pid) for pid in running.values())

"""Each way in which a fetch fails, on a real socket, becomes the right kind of failure."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lastbyte.adapters.program_client import ProgramClientRunner
from lastbyte.domain.client import Client, Parser, Protocol
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import ClientUnavailable
from lastbyte.domain.trial import FailureKind
from lastbyte.ports import Target
from testbed.catalogue import BADCERT, FAULTS, H2ONLY, REFUSED, SILENT
from tests.integration.clients.conftest import Run
from tests.integration.clients.test_fetch import each_client

TARGET = Target(Endpoint("e", "p", "https://a.test/x", "100KB"), "127.0.0.1")


@each_client
@pytest.mark.parametrize(
    ("host", "path", "kind"),
    [
        (FAULTS.host, "/nothing", FailureKind.HTTP_STATUS),
        (FAULTS.host, "/short.bin", FailureKind.RESET),
        (FAULTS.host, "/stall.bin", FailureKind.TIMEOUT),
        (BADCERT.host, "/100KB.bin", FailureKind.TLS),
        (REFUSED.host, "/", FailureKind.REFUSED),
        (SILENT.host, "/", FailureKind.CONNECT_TIMEOUT),
    ],
)
def test_kinds(run: Run, client_id: str, host: str, path: str, kind: FailureKind) -> None:
    seen = run(client_id, host, path, timeout_s=1.5)
    assert seen.failure is not None
    assert seen.failure.kind is kind, seen.failure.detail
    assert seen.failure.detail
    assert seen.timings is None


@pytest.mark.parametrize("client_id", ["curl-quiche-h3", "curl-ngtcp2-h3"])
def test_a_host_without_http3_is_told_from_one_that_refuses(run: Run, client_id: str) -> None:
    seen = run(client_id, H2ONLY.host)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.PROTOCOL
    assert "no HTTP/3 there" in seen.failure.detail


def test_a_body_of_another_size_than_expected(run: Run) -> None:
    seen = run("curl-quiche-h2", "testbed-nginx.test", size=99)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.SHORT_BODY
    assert seen.body_bytes == 100_000


def test_a_lost_namespace_is_the_paths_fault(runner: ProgramClientRunner, shipped: dict[str, Client]) -> None:
    seen = runner.run(shipped["curl-quiche-h2"], TARGET, ("nsenter", "--net=/proc/self/fd/999", "--"), 1.0)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.PATH_LOST


def program(*words: str) -> Client:
    return Client("x-h2", "x", Protocol.H2, "x", words, Parser.WALL.value, executable=("sh",))


def test_a_program_that_dies_by_a_signal(runner: ProgramClientRunner) -> None:
    seen = runner.run(program("-c", "kill -SEGV $$"), TARGET, (), 1.0)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.CLIENT_CRASH
    assert seen.exit_code == -signal.SIGSEGV


def test_a_program_that_ignores_its_limit_is_killed_with_its_children(
    runner: ProgramClientRunner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("lastbyte.adapters.program_client.GRACE_S", 1.0)
    pid_file = tmp_path / "pid"
    seen = runner.run(program("-c", f"sleep 60 & echo $! > {pid_file}; trap '' TERM; wait"), TARGET, (), 0.1)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.TIMEOUT
    assert seen.elapsed_s < 5
    assert _gone(int(pid_file.read_text()))


def _gone(pid: int) -> bool:
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].startswith("Z"):
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


def test_a_missing_program(runner: ProgramClientRunner) -> None:
    client = Client("x-h2", "x", Protocol.H2, "x", ("{url}",), Parser.WALL.value, executable=("/nowhere/x", "$NOT_SET"))
    with pytest.raises(ClientUnavailable, match=r"x is not installed \(looked for /nowhere/x"):
        runner.run(client, TARGET, (), 1.0)
    assert runner.command_for(client, TARGET, 1.0) == ["x", "https://a.test/x"]


def test_the_worker_can_end_the_trial_under_way(runner: ProgramClientRunner) -> None:
    timer = threading.Timer(0.2, runner.terminate_current)
    timer.start()
    began = time.monotonic()
    seen = runner.run(program("-c", "sleep 30"), TARGET, (), 30.0)
    assert time.monotonic() - began < 2
    assert seen.failure is not None
    assert "ended by the worker" in seen.failure.detail
    timer.join()
    runner.terminate_current()  # nothing runs: nothing happens
    assert runner.run(program("-c", "true"), TARGET, (), 1.0).ok


def test_a_signal_handler_can_end_the_trial_under_way(runner: ProgramClientRunner) -> None:
    before = signal.signal(signal.SIGALRM, lambda _number, _frame: runner.terminate_current())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        began = time.monotonic()
        assert not runner.run(program("-c", "sleep 30"), TARGET, (), 30.0).ok
        assert time.monotonic() - began < 2
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_exception_in_a_signal_handler_leaves_no_child(runner: ProgramClientRunner, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    class Stop(Exception):
        pass

    def handle(_number: int, _frame: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Stop):
            runner.run(program("-c", f"echo $$ > {pid_file}; sleep 30"), TARGET, (), 30.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert _gone(int(pid_file.read_text()))


def test_a_killed_worker_takes_its_client_along(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = ["sh", "-c", f"echo $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 60"]
    code = f"from lastbyte.adapters.child_process import ChildRunner as R; R().run({command!r}, {{'PATH': '/bin'}}, 60)"
    worker = subprocess.Popen([sys.executable, "-c", code])
    try:
        for _ in range(1000):
            if pid_file.exists():
                break
            time.sleep(0.01)
    finally:
        worker.kill()
        worker.wait()
    assert _gone(int(pid_file.read_text()))


def test_many_trials_leave_no_descriptors(runner: ProgramClientRunner) -> None:
    client = program("-c", "echo out; echo err >&2")
    runner.run(client, TARGET, (), 1.0)
    before = _descriptors()
    for _ in range(200):
        assert runner.run(client, TARGET, (), 1.0).ok
    assert _descriptors() == before


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))

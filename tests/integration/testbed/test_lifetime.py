"""How a testbed starts, is shared, mends itself, and goes without leaving anything."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lastbyte.domain.errors import Unavailable
from lastbyte.provision.origins import install_origins
from testbed import state as states
from testbed.run import EXIT_ALREADY_RUNNING, EXIT_UNAVAILABLE, running_testbed


def eventually(holds: Callable[[], bool], timeout_s: float = 60.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def children(pid: int) -> dict[int, str]:
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if fields[0] not in "ZX" and int(fields[1]) == pid:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, IndexError):
            continue
    return found


def namespace_members(inode: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            if str(entry.readlink()) == inode:
                found.append(int(entry.parts[2]))
        except OSError:
            continue
    return found


@pytest.fixture
def own_process(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    install_origins()
    with subprocess.Popen(
        [sys.executable, "-m", "testbed", "--var", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert eventually(lambda: states.load(tmp_path) is not None or process.poll() is not None)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left(own_process: "subprocess.Popen[bytes]", tmp_path: Path, number: signal.Signals) -> None:
    inode = str(Path(f"/proc/{own_process.pid}/ns/net").readlink())
    servers = children(own_process.pid)
    assert len(servers) == 4
    assert inode != str(Path("/proc/self/ns/net").readlink())
    own_process.send_signal(number)
    code = own_process.wait(timeout=60)
    assert code == (-number if number is signal.SIGKILL else 0)
    assert eventually(lambda: not namespace_members(inode), 2.0)
    assert states.load(tmp_path) is None
    assert (tmp_path / "testbed.json").exists() is (number is signal.SIGKILL)


def test_after_a_kill_the_next_one_starts_at_once(own_process: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    own_process.kill()
    own_process.wait()
    with running_testbed(tmp_path) as state:
        assert state.pid != own_process.pid
        assert json.loads((tmp_path / "testbed.json").read_text())["pid"] == state.pid
    assert not (tmp_path / "testbed.json").exists()


def test_a_living_one_is_used_and_a_second_one_refused(testbed: states.TestbedState) -> None:
    var = testbed.ca_file.parents[2]
    with running_testbed(var) as other:
        assert other == testbed
    assert states.load(var) == testbed
    second = subprocess.run(
        [sys.executable, "-m", "testbed", "--var", str(var)], capture_output=True, text=True, check=False
    )
    assert second.returncode == EXIT_ALREADY_RUNNING
    assert "runs already" in second.stderr


@pytest.mark.parametrize("name", ["caddy run", "nginx/nginx.conf", "haproxy.cfg"])
def test_a_server_that_dies_is_started_again(
    testbed: states.TestbedState, fetch: Callable[..., object], name: str
) -> None:
    (old,) = [pid for pid, command in children(testbed.pid).items() if name in command]
    os.kill(old, signal.SIGKILL)

    def again() -> bool:
        return any(name in command and pid != old for pid, command in children(testbed.pid).items())

    assert eventually(again)
    urls = [f"https://{provider.host}/100KB.bin" for provider in testbed.providers]
    for protocol in ("h2", "h3"):
        assert eventually(lambda p=protocol: all(getattr(fetch(url, p), "status") == 200 for url in urls))  # type: ignore[misc]  # noqa: B009


def test_without_the_right_to_make_namespaces_the_reason_is_said(tmp_path: Path) -> None:
    install_origins()
    done = subprocess.run(
        ["setpriv", "--bounding-set=-sys_admin", "--", sys.executable, "-m", "testbed", "--var", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == EXIT_UNAVAILABLE
    assert "Run as root" in done.stderr


def test_without_the_servers_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path / "empty"))
    with pytest.raises(Unavailable, match=r"is missing\. Run"), running_testbed(tmp_path / "var"):
        pytest.fail("started without servers")

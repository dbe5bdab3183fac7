"""The pure parts of running a system: folders, versions, logs, leftovers, the demo's request."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from lastbyte.domain.errors import Conflict, InvalidInput, Unavailable
from lastbyte.embedded import binaries, preflight
from lastbyte.embedded.demo import campaign_body
from lastbyte.embedded.keeper import groups_left
from lastbyte.embedded.logs import rotate, tail
from lastbyte.embedded.processes import alive, fits_socket, socket_folder, start_time
from lastbyte.embedded.system import LogWatch, Plan, is_testbed_running


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("postgres (PostgreSQL) 18.4", "18.4"),
        ("postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)", "15.13"),
        ("Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150", "9.1.2"),
        ("Redis server v=7.0.15 sha=00000000:0", "7.0.15"),
        ("no version here", None),
    ],
)
def test_versions_are_read_from_what_programs_print(line: str, version: str | None) -> None:
    assert binaries.parse_version(line) == version


def program(folder: Path, name: str, prints: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)
    return path


def test_the_environment_comes_before_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "postgres", "postgres (PostgreSQL) 15.9")
    program(tmp_path, "initdb", "")
    server = program(tmp_path, "redis-server", "Redis server v=7.2.1 sha=0")
    monkeypatch.setenv(binaries.POSTGRES_ENV, str(tmp_path))
    monkeypatch.setenv(binaries.VALKEY_ENV, str(server))
    assert binaries.find_postgres() == binaries.Program(tmp_path / "postgres", "15.9", "environment")
    assert binaries.find_valkey() == binaries.Program(server, "7.2.1", "environment")


def test_a_program_that_was_named_but_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(binaries.VALKEY_ENV, str(tmp_path / "none"))
    with pytest.raises(Unavailable, match=binaries.VALKEY_ENV):
        binaries.find_valkey()


def test_a_data_folder_of_another_major_version_names_what_is_needed() -> None:
    with pytest.raises(Unavailable, match=r"made by PostgreSQL 9, .* LASTBYTE_POSTGRES_BIN .* --var"):
        binaries.find_postgres(9)


@pytest.mark.parametrize(
    ("folder", "fits"), [("/srv/var/run", True), ("/srv/a b/run", False), ("/srv/a,b", False), ("/" + "x" * 90, False)]
)
def test_sockets_lie_only_where_their_path_is_short_and_plain(folder: str, fits: bool) -> None:
    assert fits_socket(Path(folder)) is fits


def test_a_stand_in_for_a_socket_folder_is_private_stable_and_owned(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    folder = socket_folder(deep)
    try:
        assert folder == socket_folder(deep)
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder != socket_folder(tmp_path / ("y" * 100))
    finally:
        folder.rmdir()
        socket_folder(tmp_path / ("y" * 100)).rmdir()


def test_a_socket_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    base = Path("/tmp") / f"lb{os.getpid()}"
    base.symlink_to(tmp_path)
    try:
        with pytest.raises(Unavailable, match="must be a folder of user"):
            socket_folder(base)
    finally:
        base.unlink()


def test_the_keeper_ends_only_what_was_not_taken_back() -> None:
    assert groups_left(["+10 api\n", "+11 worker\n", "-10\n", "+12 api\n"]) == {11, 12}


def test_a_log_that_outgrew_its_limit_is_cut_under_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"old\n" * 100)
        assert rotate(log, limit=50)
        writer.write(b"new\n")
    assert log.read_bytes() == b"new\n"
    assert log.with_name("api.log.1").read_bytes() == b"old\n" * 100
    assert not rotate(log, limit=50)
    assert not rotate(tmp_path / "none.log")


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(str(n) for n in range(100_000)) + "\n\n")
    assert tail(log, 2) == "99998\n99999"
    assert tail(tmp_path / "none") == ""


def test_a_log_watch_sees_only_what_came_after_its_mark(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("worker ready.\n")
    watch = LogWatch(log, b"ready.")
    watch.mark()
    assert not watch.seen()
    with log.open("a") as file:
        file.write("again ready.\n")
    assert watch.seen()


def test_a_second_system_over_a_folder_is_told_who_holds_it(tmp_path: Path) -> None:
    refused = pytest.raises(Conflict, match=f"process {os.getpid()}.*--var")
    with preflight.only_one(tmp_path), refused, preflight.only_one(tmp_path):
        pass
    with preflight.only_one(tmp_path):
        pass


def test_two_services_can_not_share_a_port() -> None:
    with pytest.raises(InvalidInput, match="--api-port and --dashboard-port"):
        preflight.check_ports({"--api-port": 8000, "--dashboard-port": 8000})


def test_what_runs_is_published_and_taken_back(tmp_path: Path) -> None:
    preflight.publish(tmp_path, {"pid": 1})
    assert (tmp_path / "up.json").read_text() == '{\n "pid": 1\n}\n'
    preflight.publish(tmp_path, None)
    assert list(tmp_path.iterdir()) == []


def test_a_testbed_counts_as_running_only_with_its_own_start_time(tmp_path: Path) -> None:
    assert not is_testbed_running(tmp_path)
    facts = tmp_path / "testbed.json"
    facts.write_text(f'{{"pid": {os.getpid()}, "start_time": {start_time(os.getpid())}}}')
    assert is_testbed_running(tmp_path)
    facts.write_text(f'{{"pid": {os.getpid()}, "start_time": 1}}')
    assert not is_testbed_running(tmp_path)
    facts.write_text("{")
    assert not is_testbed_running(tmp_path)


def test_no_process_has_the_id_after_the_last() -> None:
    beyond = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    assert alive(os.getpid())
    assert not alive(beyond)
    assert start_time(beyond) is None


def test_urls_follow_the_ports() -> None:
    plan = Plan(Path("/srv"), api_port=1, dashboard_port=2)
    assert (plan.api_url, plan.dashboard_url) == ("http://127.0.0.1:1", "http://127.0.0.1:2")


ENDPOINTS: list[dict[str, Any]] = [
    {"id": "testbed-caddy-100KB", "provider": "testbed-caddy", "size_label": "100KB"},
    {"id": "testbed-caddy-5MB", "provider": "testbed-caddy", "size_label": "5MB"},
    {"id": "testbed-nginx-1MB", "provider": "testbed-nginx", "size_label": "1MB"},
    {"id": "google-1MB", "provider": "google", "size_label": "1MB"},
]
PROFILES = [{"name": name} for name in ("unshaped", "baseline", "loss-1", "delay-50")]


def test_the_demo_measures_the_small_objects_of_the_testbed_only() -> None:
    body = campaign_body(ENDPOINTS, PROFILES, ["curl-quiche-h2", "curl-quiche-h3", "curl-ngtcp2-h3"], rounds=3)
    assert body["endpoints"] == ["testbed-caddy-100KB"]
    assert body["profiles"] == ["baseline", "loss-1", "delay-50"]
    assert body["clients"] == ["curl-quiche-h2", "curl-quiche-h3"]
    assert body["rounds"] == 3


def test_the_demo_says_which_client_is_missing() -> None:
    with pytest.raises(Unavailable, match="no curl-quiche-h3; run: lastbyte setup"):
        campaign_body(ENDPOINTS, PROFILES, ["curl-quiche-h2"], rounds=3)
    with pytest.raises(Unavailable, match="testbed offers no endpoints"):
        campaign_body([], PROFILES, [], rounds=3)


def test_the_keeper_needs_nothing_but_the_standard_library() -> None:
    source = Path(binaries.__file__).with_name("keeper.py").read_text()
    imported = [line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert all(name == "__future__" or name.split(".")[0] in sys.stdlib_module_names for name in imported)

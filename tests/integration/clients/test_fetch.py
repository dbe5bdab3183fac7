"""The clients that ship fetch from three server stacks, and say all that a trial stores."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
from pathlib import Path

import pytest

from lastbyte.adapters.program_client import ProgramClientRunner
from lastbyte.domain.client import Client, pinned, watched
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.tls import GroupSource, group_name
from lastbyte.domain.trial import FailureKind
from lastbyte.ports import Target
from lastbyte.settings import cache_dir
from testbed.catalogue import DIGESTS
from testbed.state import TestbedState
from tests.integration.clients.conftest import Run

each_client = pytest.mark.parametrize("client_id", ["curl-quiche-h2", "curl-quiche-h3", "curl-ngtcp2-h3"])
each_host = pytest.mark.parametrize("host", ["testbed-caddy.test", "testbed-nginx.test", "testbed-haproxy.test"])


@each_client
@each_host
def test_a_fetch_says_all_that_is_stored(run: Run, testbed: TestbedState, client_id: str, host: str) -> None:
    seen = run(client_id, host, size=100_000)
    assert seen.failure is None
    assert seen.timings is not None
    assert seen.timings.handshake_s is not None
    assert seen.timings.ttfb_s is not None
    assert 0 < seen.timings.handshake_s < seen.timings.ttfb_s < seen.timings.ttlb_s < seen.elapsed_s
    assert (seen.exit_code, seen.http_status, seen.body_bytes) == (0, 200, 100_000)
    assert seen.http_version == client_id[-1]
    assert seen.remote_address == testbed.address_of(host)
    assert seen.started_at.tzinfo is not None
    assert "server" in seen.headers
    assert seen.body_sha256 == DIGESTS["100KB"]
    assert seen.tls is not None
    assert seen.tls.version == "TLSv1.3"
    if client_id == "curl-quiche-h3":  # BoringSSL over QUIC says nothing
        assert seen.tls.cipher is None
        said = {"testbed-caddy.test": (None, GroupSource.UNKNOWN)}
        assert (seen.tls.group, seen.tls.group_source) == said.get(host, ("X25519MLKEM768", GroupSource.SERVER))
    else:
        source = GroupSource.CLIENT if client_id == "curl-ngtcp2-h3" else GroupSource.SERVER_HELLO
        assert (seen.tls.group, seen.tls.group_source) == ("X25519MLKEM768", source)
        assert str(seen.tls.cipher).startswith("TLS_")


@each_client
@pytest.mark.parametrize("group", ["X25519", "P-256", "P-384", "X25519MLKEM768"])
def test_a_pinned_group_is_the_one_that_both_sides_use(
    run: Run, shipped: dict[str, Client], client_id: str, group: str
) -> None:
    client = pinned(shipped[client_id], [group])
    seen = run(client, "testbed-nginx.test")
    assert seen.failure is None
    assert seen.tls is not None
    assert seen.tls.group == group
    assert group_name(seen.headers["x-tls-group"]) == group


@each_client
def test_another_body_than_stated_is_a_failure_of_its_own(run: Run, client_id: str) -> None:
    seen = run(client_id, "testbed-nginx.test", sha256="0" * 64)
    assert seen.timings is None
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.WRONG_BODY
    assert DIGESTS["100KB"] in seen.failure.detail
    assert seen.body_sha256 == DIGESTS["100KB"]
    assert run(client_id, "testbed-nginx.test", sha256=DIGESTS["100KB"]).failure is None


@each_client
def test_ipv6(run: Run, testbed: TestbedState, client_id: str) -> None:
    seen = run(client_id, "testbed-nginx.test", ipv6=True)
    assert seen.failure is None
    assert seen.remote_address == testbed.address_of("testbed-nginx.test", ipv6=True)


def test_nothing_of_the_callers_environment_reaches_a_client(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".curlrc").write_text("http1.1\n")
    monkeypatch.setenv("LASTBYTE_CACHE", str(cache_dir()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CURL_HOME", str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    assert run("curl-quiche-h2", "testbed-nginx.test").failure is None
    assert not (tmp_path / "keys").exists()


@each_client
def test_key_log_can_be_asked_for(run: Run, shipped: dict[str, Client], tmp_path: Path, client_id: str) -> None:
    keys = tmp_path / "keys"
    client = shipped[client_id]
    run(dataclasses.replace(client, env={**client.env, "SSLKEYLOGFILE": str(keys)}), "testbed-nginx.test")
    assert "SERVER_TRAFFIC_SECRET_0" in keys.read_text()


def test_qlog_can_be_asked_for(run: Run, shipped: dict[str, Client], tmp_path: Path) -> None:
    run(watched(shipped["curl-quiche-h3"], str(tmp_path.parent / "keys"), str(tmp_path), "har"), "testbed-nginx.test")
    (file,) = tmp_path.iterdir()
    assert file.suffix == ".sqlog"
    assert "packet_received" in file.read_text()


def test_the_build_is_the_one_that_runs(runner: ProgramClientRunner, shipped: dict[str, Client]) -> None:
    quiche = runner.build_of(shipped["curl-quiche-h3"])
    assert "quiche/0.30.0" in quiche.short_version
    assert "BoringSSL" in quiche.short_version
    assert quiche.sha256 == hashlib.sha256(Path(quiche.path).read_bytes()).hexdigest()
    ngtcp2 = runner.build_of(shipped["curl-ngtcp2-h3"])
    assert "ngtcp2/" in ngtcp2.short_version
    assert "libngtcp2" in ngtcp2.version_text.splitlines()[-1]
    assert runner.build_of(shipped["curl-quiche-h2"]) is quiche


def test_the_command_that_is_shown_is_the_one_that_runs(
    runner: ProgramClientRunner, shipped: dict[str, Client], testbed: TestbedState, prefix: tuple[str, ...]
) -> None:
    endpoint = Endpoint("e", "p", "https://testbed-nginx.test/100KB.bin", "100KB")
    target = Target(endpoint, testbed.address_of("testbed-nginx.test"), 0.0, testbed.ca_file)
    command = runner.command_for(shipped["curl-quiche-h3"], target, 5.0)
    done = subprocess.run([*prefix, *command], capture_output=True, check=True)
    assert b'"http_version":"3"' in done.stderr
    assert hashlib.sha256(done.stdout).hexdigest() == DIGESTS["100KB"]

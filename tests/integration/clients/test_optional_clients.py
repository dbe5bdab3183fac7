"""The optional clients fetch from three server stacks and say what they say; skipped where they are not installed."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lastbyte.adapters.executables import find_executable
from lastbyte.domain.client import Client, pinned
from lastbyte.domain.tls import GroupSource
from lastbyte.domain.trial import FailureKind
from netem.namespaces import Namespace
from testbed.catalogue import DIGESTS
from testbed.state import TestbedState
from tests.integration.clients.conftest import Run

PLAIN = ["quic-go-h2", "quic-go-h3", "aioquic-h3", "curl-cffi-h2", "curl-cffi-h3", "curl-openssl-h3"]
HOSTS = ["testbed-caddy.test", "testbed-nginx.test", "testbed-haproxy.test"]
EARLY_HOST = "testbed-caddy.test"
"""The one stand-in that takes early data."""

each_client = pytest.mark.parametrize("client_id", PLAIN)


@pytest.fixture(autouse=True)
def _installed(request: pytest.FixtureRequest, shipped: dict[str, Client]) -> None:
    name = request.node.callspec.params["client_id"] if hasattr(request.node, "callspec") else "quic-go-h3"
    client = shipped[name]
    if find_executable(client.executable) is None:
        pytest.skip(f"{client.program} is optional and not here; lastbyte clients install {client.program}")


@each_client
@pytest.mark.parametrize("host", HOSTS)
def test_a_fetch_says_what_is_stored(run: Run, testbed: TestbedState, client_id: str, host: str) -> None:
    seen = run(client_id, host, size=100_000)
    assert seen.failure is None
    assert seen.timings is not None
    assert seen.timings.handshake_s is not None
    assert seen.timings.ttfb_s is not None
    assert 0 < seen.timings.handshake_s <= seen.timings.ttfb_s < seen.timings.ttlb_s < seen.elapsed_s
    assert (seen.http_status, seen.http_version, seen.body_bytes) == (200, client_id[-1], 100_000)
    assert seen.remote_address == testbed.address_of(host)
    assert seen.body_sha256 == DIGESTS["100KB"]
    assert seen.headers["x-tls-resumed"] in {"no", "false"}
    assert "server" in seen.headers
    assert seen.tls is not None
    assert seen.tls.version == "TLSv1.3"
    if client_id != "curl-openssl-h3":  # says nothing of its handshakes
        assert str(seen.tls.cipher).startswith("TLS_")
    if client_id.startswith("quic-go"):
        assert (seen.tls.group, seen.tls.group_source) == ("X25519MLKEM768", GroupSource.CLIENT)


@each_client
def test_ipv6_and_the_ways_to_fail(run: Run, testbed: TestbedState, client_id: str) -> None:
    host = "testbed-nginx.test"
    six = run(client_id, host, ipv6=True)
    assert six.failure is None
    assert six.remote_address == testbed.address_of(host, ipv6=True)
    missing = run(client_id, host, "/nothing")
    assert missing.failure is not None
    assert missing.failure.kind is FailureKind.HTTP_STATUS
    slow = run(client_id, host, "/5MB.bin", timeout_s=0.001)
    assert slow.failure is not None
    assert slow.failure.kind in {FailureKind.TIMEOUT, FailureKind.CONNECT_TIMEOUT}


@each_client
def test_a_certificate_of_someone_else_is_a_failure(
    run: Run, testbed: TestbedState, shipped: dict[str, Client], client_id: str
) -> None:
    client = dataclasses.replace(shipped[client_id], ca_argv=())
    seen = run(client, "testbed-nginx.test")
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.TLS


@pytest.mark.parametrize("client_id", ["quic-go-h2", "quic-go-h3", "curl-cffi-h2", "curl-cffi-h3"])
def test_a_pinned_group_is_the_one_in_use(run: Run, shipped: dict[str, Client], client_id: str) -> None:
    seen = run(pinned(shipped[client_id], ["X25519"]), "testbed-nginx.test")
    assert seen.failure is None
    assert seen.headers["x-tls-group"] == "X25519"
    assert seen.tls is not None
    assert seen.tls.group == "X25519"


@pytest.mark.parametrize(
    "client_id", ["quic-go-h2@reuse", "quic-go-h3@reuse", "quic-go-h2@resume", "quic-go-h3@resume"]
)
@pytest.mark.parametrize("host", HOSTS)
def test_arms_with_a_memory_have_the_one_they_are_for(run: Run, client_id: str, host: str) -> None:
    seen = run(client_id, host)
    assert seen.failure is None
    assert seen.timings is not None
    resumes = client_id.endswith("@resume")
    assert (seen.timings.handshake_s is not None) is resumes
    assert seen.headers["x-tls-resumed"] in ({"yes", "true"} if resumes else {"no", "false"})


@pytest.mark.parametrize("client_id", ["quic-go-h3@0rtt"])
def test_the_request_leaves_as_early_data_and_is_answered(
    run: Run, client_id: str, datagrams: Callable[[], list[bytes]]
) -> None:
    seen = run(client_id, EARLY_HOST)
    assert seen.failure is None
    assert seen.headers["x-tls-resumed"] == "true"
    assert zero_rtt_packets(datagrams()), "no 0-RTT packet was seen on the wire"


@pytest.mark.parametrize("client_id", ["quic-go-h3@resume"])
def test_without_early_data_none_is_on_the_wire(run: Run, client_id: str, datagrams: Callable[[], list[bytes]]) -> None:
    assert run(client_id, EARLY_HOST).failure is None
    assert not zero_rtt_packets(datagrams())


@pytest.mark.parametrize("client_id", ["quic-go-h3@0rtt"])
def test_a_server_that_takes_no_early_data_is_a_failure(run: Run, client_id: str) -> None:
    seen = run(client_id, "testbed-haproxy.test")
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.PROTOCOL
    assert "no early data was accepted" in seen.failure.detail


@each_client
def test_keys_and_qlog_are_left_when_asked_for(
    run: Run, shipped: dict[str, Client], tmp_path: Path, client_id: str
) -> None:
    keys, client = tmp_path / "keys", shipped[client_id]
    env = {**client.env, "SSLKEYLOGFILE": str(keys), "QLOGDIR": str(tmp_path)}
    assert run(dataclasses.replace(client, env=env), "testbed-nginx.test").failure is None
    assert "SERVER_TRAFFIC_SECRET_0" in keys.read_text()
    qlogs = [path for path in tmp_path.iterdir() if path != keys]
    assert bool(qlogs) is (client_id[-1] == "3")
    assert all('"packet_sent"' in text or ":packet_sent" in text for text in (file.read_text() for file in qlogs))


@pytest.fixture
def datagrams(testbed: TestbedState) -> Iterator[Callable[[], list[bytes]]]:
    """Call it for the UDP payloads that were seen in the testbed's namespace."""
    namespace = Namespace.open(str(testbed.netns))
    tap = namespace.call(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)))
    tap.setblocking(False)
    try:
        yield lambda: list(_payloads(tap))
    finally:
        tap.close()
        namespace.close()


def _payloads(tap: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            packet = tap.recv(4096)
        except BlockingIOError:
            return
        if packet[9] == socket.IPPROTO_UDP:
            yield packet[(packet[0] & 15) * 4 + 8 :]


def zero_rtt_packets(sent: list[bytes]) -> list[bytes]:
    """Datagrams that hold a 0-RTT packet of QUIC version 1 (RFC 9000, 17.2.3), also behind an Initial packet."""
    return [payload for payload in sent if 1 in long_packets(payload)]


def long_packets(payload: bytes) -> Iterator[int]:
    """Types of the long-header packets of a datagram, one after the other (RFC 9000, 12.2 and 17.2)."""
    at = 0
    while at + 7 < len(payload) and payload[at] & 0xC0 == 0xC0 and payload[at + 1 : at + 5] == b"\0\0\0\1":
        kind = payload[at] >> 4 & 3
        yield kind
        at += 5
        for _ in range(2):  # both connection ids
            at += 1 + payload[at]
        if kind == 3:
            return
        if kind == 0:
            size, at = variable(payload, at)
            at += size
        length, at = variable(payload, at)
        at += length


def variable(data: bytes, at: int) -> tuple[int, int]:
    """A variable-length integer and where it ends (RFC 9000, 16)."""
    size = 1 << (data[at] >> 6)
    return int.from_bytes(data[at : at + size], "big") & (1 << (8 * size - 2)) - 1, at + size

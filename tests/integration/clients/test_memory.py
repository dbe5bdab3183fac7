"""No memory, and memory only where an arm is for it: what client and origin say of connections and TLS sessions."""

from __future__ import annotations

import dataclasses

import pytest

from lastbyte.adapters.client_descriptions import load_clients
from lastbyte.domain.client import Client, Memory
from lastbyte.domain.trial import FailureKind
from tests.integration.clients.conftest import Run

CLIENTS = {client.id: client for client in load_clients() if client.program in {"curl-quiche", "curl-ngtcp2"}}
PLAIN = [name for name, client in CLIENTS.items() if client.memory is None]
REUSE = [name for name, client in CLIENTS.items() if client.memory is Memory.REUSE]
RESUME = [name for name, client in CLIENTS.items() if client.memory is Memory.RESUME]
HOSTS = ["testbed-caddy.test", "testbed-nginx.test", "testbed-haproxy.test"]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("client_id", PLAIN)
def test_a_plain_trial_never_resumes_and_opens_a_connection(run: Run, client_id: str, host: str) -> None:
    for _ in range(2):
        seen = run(client_id, host)
        assert seen.failure is None
        assert seen.headers["x-tls-resumed"] in {"no", "false"}
        assert seen.headers.get("x-connection-requests", "1") == "1"
        assert seen.timings is not None
        assert seen.timings.handshake_s is not None


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("client_id", REUSE)
def test_a_reuse_arm_asks_on_the_connection_that_a_request_before_opened(run: Run, client_id: str, host: str) -> None:
    seen = run(client_id, host)
    assert seen.failure is None
    assert seen.body_bytes == 100_000
    assert seen.headers["x-tls-resumed"] in {"no", "false"}
    assert seen.headers.get("x-connection-requests", "2") == "2"
    assert seen.timings is not None
    assert seen.timings.handshake_s is None


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("client_id", RESUME)
def test_a_resume_arm_opens_a_connection_with_a_ticket(run: Run, client_id: str, host: str) -> None:
    seen = run(client_id, host)
    assert seen.failure is None
    assert seen.headers["x-tls-resumed"] in {"yes", "true"}
    assert seen.headers.get("x-connection-requests", "1") == "1"
    assert seen.timings is not None
    assert seen.timings.handshake_s is not None


def test_every_program_has_its_arms() -> None:
    assert set(REUSE) == {"curl-quiche-h2@reuse", "curl-quiche-h3@reuse", "curl-ngtcp2-h3@reuse"}
    assert set(RESUME) == {"curl-quiche-h2@resume", "curl-ngtcp2-h3@resume"}


def test_memory_that_an_arm_is_not_for_is_a_failure(run: Run, shipped: dict[str, Client]) -> None:
    for arm, said in (("curl-quiche-h2@reuse", "open connection"), ("curl-quiche-h2@resume", "resumed a TLS session")):
        seen = run(dataclasses.replace(shipped[arm], memory=None), "testbed-nginx.test")
        assert seen.failure is not None
        assert seen.failure.kind is FailureKind.PROTOCOL
        assert said in seen.failure.detail
    for memory in (Memory.REUSE, Memory.RESUME, Memory.EARLY_DATA):
        seen = run(dataclasses.replace(shipped["curl-quiche-h2"], memory=memory), "testbed-nginx.test")
        assert seen.failure is not None
        assert seen.failure.kind is FailureKind.PROTOCOL

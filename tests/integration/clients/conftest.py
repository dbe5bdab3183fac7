"""The testbed, and a runner that fetches from inside its namespace with the clients that ship."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lastbyte.adapters.client_descriptions import load_clients
from lastbyte.adapters.program_client import ProgramClientRunner
from lastbyte.domain.client import Client
from lastbyte.domain.endpoint import Endpoint, EndpointKind
from lastbyte.domain.trial import Observation
from lastbyte.ports import Target
from lastbyte.provision.setup import run_setup
from testbed.run import running_testbed
from testbed.state import TestbedState

Run = Callable[..., Observation]


@pytest.fixture(scope="session")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestbedState]:
    problems = [result.problem for result in run_setup(print) if result.problem]
    assert not problems, problems
    with running_testbed(tmp_path_factory.mktemp("clients-testbed")) as state:
        yield state


@pytest.fixture
def runner() -> ProgramClientRunner:
    return ProgramClientRunner(connect_timeout_s=1.0)


@pytest.fixture(scope="session")
def prefix(testbed: TestbedState) -> tuple[str, ...]:
    return ("nsenter", f"--net={testbed.netns}", "--")


@pytest.fixture(scope="session")
def shipped() -> dict[str, Client]:
    return {client.id: client for client in load_clients()}


@pytest.fixture
def run(testbed: TestbedState, runner: ProgramClientRunner, prefix: tuple[str, ...], shipped: dict[str, Client]) -> Run:
    """Fetch ``path`` of a testbed host once."""

    def fetch(
        client: Client | str,
        host: str,
        path: str = "/100KB.bin",
        *,
        ipv6: bool = False,
        timeout_s: float = 5.0,
        size: int | None = None,
        sha256: str | None = None,
        kind: EndpointKind = EndpointKind.OBJECT,
    ) -> Observation:
        way = shipped[client] if isinstance(client, str) else client
        url = f"https://{host}{path}"
        endpoint = Endpoint("e", "p", url, "100KB", kind, expected_bytes=size, expected_sha256=sha256)
        target = Target(endpoint, testbed.address_of(host, ipv6=ipv6), 0.0, testbed.ca_file)
        return runner.run(way, target, prefix, timeout_s)

    return fetch

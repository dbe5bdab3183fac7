"""A testbed of the test session, and a curl that speaks HTTP/2 and HTTP/3 inside its namespace."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lastbyte.provision import debian
from lastbyte.provision.origins import install_origins
from testbed.run import running_testbed
from testbed.state import TestbedState


@dataclass(frozen=True)
class Fetched:
    """What one run of curl gave."""

    exit_code: int
    http_version: str
    status: int
    handshake_ms: float
    body: bytes
    said: str


Fetch = Callable[..., Fetched]


@pytest.fixture(scope="session")
def curl() -> Path:
    return debian.unpacked("trixie-backports", ["curl"], "client-curl-ngtcp2").program("curl")


@pytest.fixture(scope="session")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestbedState]:
    install_origins()
    with running_testbed(tmp_path_factory.mktemp("testbed")) as state:
        yield state


@pytest.fixture
def fetch(testbed: TestbedState, curl: Path, tmp_path: Path) -> Fetch:
    """Fetch a URL of the testbed by one protocol, from inside its namespace or behind another command prefix."""

    def run(
        url: str,
        protocol: str,
        *,
        ipv6: bool = False,
        timeout_s: float = 5.0,
        prefix: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
    ) -> Fetched:
        host = url.split("/")[2]
        address = testbed.address_of(host, ipv6=ipv6)
        place = f"[{address}]" if ipv6 else address
        body = tmp_path / "body"
        body.unlink(missing_ok=True)
        done = subprocess.run(
            [
                *(prefix or ("nsenter", f"--net={testbed.netns}", "--")),
                str(curl),
                *("--disable", "-sS", {"h2": "--http2", "h3": "--http3-only"}[protocol]),
                *("--cacert", str(testbed.ca_file), "--resolve", f"{host}:443:{place}"),
                *("--max-time", str(timeout_s), "-o", str(body)),
                *("-w", "%{http_version} %{http_code} %{time_appconnect}"),
                *options,
                url,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        version, status, appconnect = done.stdout.split()
        data = body.read_bytes() if body.exists() else b""
        return Fetched(done.returncode, version, int(status), float(appconnect) * 1e3, data, done.stderr)

    return run

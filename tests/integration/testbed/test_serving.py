"""Each stand-in serves each object, by both protocols and families, with the bytes that it should."""

import hashlib
import subprocess
import sys

import pytest

from lastbyte.provision.origins import MINIMUM_VERSIONS, numeric_version
from testbed.catalogue import OBJECTS, PROVIDERS, Provider
from testbed.state import TestbedState
from tests.integration.testbed.conftest import Fetch

each_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
each_protocol = pytest.mark.parametrize("protocol", ["h2", "h3"])


@each_provider
@each_protocol
@pytest.mark.parametrize("label", OBJECTS)
def test_every_object_by_every_protocol(
    testbed: TestbedState, fetch: Fetch, provider: Provider, protocol: str, label: str
) -> None:
    got = fetch(provider.url(label), protocol)
    assert (got.exit_code, got.status, got.http_version) == (0, 200, protocol[1]), got.said
    assert len(got.body) == testbed.objects[label]
    assert hashlib.sha256(got.body).hexdigest() == testbed.digests[label]


@each_provider
@each_protocol
def test_over_ipv6(testbed: TestbedState, fetch: Fetch, provider: Provider, protocol: str) -> None:
    got = fetch(provider.url("100KB"), protocol, ipv6=True)
    assert (got.exit_code, got.status, got.http_version) == (0, 200, protocol[1]), got.said
    assert hashlib.sha256(got.body).hexdigest() == testbed.digests["100KB"]


@each_provider
def test_nothing_is_compressed_and_404_is_404(fetch: Fetch, provider: Provider) -> None:
    plain = fetch(provider.url("100KB"), "h2", options=("-H", "accept-encoding: gzip, br, zstd"))
    assert len(plain.body) == 100_000
    assert fetch(f"https://{provider.host}/none.bin", "h3").status == 404


@each_provider
def test_the_stated_congestion_control_is_the_one_in_use(testbed: TestbedState, provider: Provider) -> None:
    stated = next(entry for entry in testbed.providers if entry.name == provider.name)
    script = (
        "import socket, subprocess, sys\n"
        "with socket.create_connection((sys.argv[1], 443)) as held:\n"
        "    subprocess.run(['ss', '-Htin', 'state', 'established', 'src', sys.argv[1]], check=True)\n"
    )
    shown = subprocess.run(
        ["nsenter", f"--net={testbed.netns}", "--", sys.executable, "-c", script, stated.address],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f" {stated.tcp_congestion_control} " in shown.stdout
    assert stated.tcp_congestion_control in testbed.sysctls["net.ipv4.tcp_available_congestion_control"]


def test_versions_are_stated_and_new_enough(testbed: TestbedState) -> None:
    versions = {entry.server.split()[0].lower(): entry.server.split()[1] for entry in testbed.providers}
    assert versions.keys() == MINIMUM_VERSIONS.keys()
    for name, version in versions.items():
        assert numeric_version(version) >= MINIMUM_VERSIONS[name]

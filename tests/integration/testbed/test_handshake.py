"""A post-quantum ClientHello costs no extra round trip: H2 takes two, H3 one, through a real delay."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lastbyte.domain.errors import PathUnavailable
from netem.factory import ShapedPathFactory
from netem.path import ShapedPath
from netem.profiles import load_profiles
from testbed.catalogue import PROVIDERS, Provider
from testbed.state import TestbedState
from tests.integration.testbed.conftest import Fetch

RUNS = 3
ALLOWANCE_MS = 30.0
"""Three kilobytes of handshake at 10 Mbit/s, the cryptography, and a busy machine: half a round trip of the nearest."""


@pytest.fixture(scope="module")
def path(testbed: TestbedState) -> Iterator[ShapedPath]:
    try:
        opened = ShapedPathFactory(uplink="testbed", testbed_state=testbed.ca_file.parents[2] / "testbed.json").open()
    except PathUnavailable as exc:
        pytest.skip(str(exc))
    with opened:
        yield opened


@pytest.mark.parametrize("group", ["X25519MLKEM768", "X25519"])
@pytest.mark.parametrize(("protocol", "round_trips"), [("h2", 2), ("h3", 1)])
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_round_trips_of_a_handshake(
    path: ShapedPath, fetch: Fetch, provider: Provider, protocol: str, round_trips: int, group: str
) -> None:
    profile = load_profiles()["delay-50"]
    path.configure(profile, provider.base_rtt_ms)
    rtt_ms = profile.extra_rtt_ms + provider.base_rtt_ms
    runs = [
        fetch(provider.url("100KB"), protocol, prefix=path.command_prefix(), options=("-v", "--curves", group))
        for _ in range(RUNS)
    ]
    assert all(run.exit_code == 0 for run in runs), runs[0].said
    assert all(f" / {group.lower()} / " in run.said.lower() for run in runs)
    handshake_ms = min(run.handshake_ms for run in runs)
    assert round_trips * rtt_ms <= handshake_ms <= round_trips * rtt_ms + ALLOWANCE_MS


@pytest.mark.parametrize("protocol", ["h2", "h3"])
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_the_post_quantum_group_is_chosen_when_offered(fetch: Fetch, provider: Provider, protocol: str) -> None:
    said = fetch(provider.url("100KB"), protocol, options=("-v",)).said
    assert " / X25519MLKEM768 / " in said

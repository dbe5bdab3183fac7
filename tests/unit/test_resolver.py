from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from lastbyte.adapters.resolver import Family, HostResolver, KnownHost
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import ResolutionFailed

BOTH = [(socket.AF_INET6, "2001:db8::1"), (socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "192.0.2.2")]


def endpoint(url: str = "https://a.test/x") -> Endpoint:
    return Endpoint("e", "p", url, "100KB")


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (Family.PREFER_IPV4, "192.0.2.1"),
        (Family.IPV4, "192.0.2.1"),
        (Family.PREFER_IPV6, "2001:db8::1"),
        (Family.IPV6, "2001:db8::1"),
    ],
)
def test_the_first_address_of_the_wanted_family_is_pinned(family: Family, address: str) -> None:
    target = HostResolver(family=family, lookup=lambda _host, _port: BOTH).resolve(endpoint())
    assert target.address == address
    assert target.ca_file is None
    assert target.resolution_s > 0


def test_a_preference_falls_back_a_demand_does_not() -> None:
    only6 = [(socket.AF_INET6, "2001:db8::1")]
    assert HostResolver(lookup=lambda _h, _p: only6).resolve(endpoint()).address == "2001:db8::1"
    with pytest.raises(ResolutionFailed, match=r"a\.test has no ipv4 address"):
        HostResolver(family=Family.IPV4, lookup=lambda _h, _p: only6).resolve(endpoint())


def test_testbed_hosts_are_not_asked_of_the_dns() -> None:
    def never(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
        raise AssertionError(host)

    known = {"a.test": KnownHost("10.200.1.1", Path("/ca.pem"), "fd00::1")}
    target = HostResolver(known, lookup=never).resolve(endpoint())
    assert (target.address, target.ca_file, target.resolution_s) == ("10.200.1.1", Path("/ca.pem"), 0.0)
    six = HostResolver(lambda: known, family=Family.PREFER_IPV6, lookup=never).resolve(endpoint())
    assert six.address == "fd00::1"
    assert HostResolver(lookup=never).resolve(endpoint("https://[::1]:8443/")).address == "::1"


def test_a_name_without_an_address_says_which_and_why() -> None:
    def fails(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(ResolutionFailed, match=r"a\.test can't be resolved: Name or service not known"):
        HostResolver(lookup=fails).resolve(endpoint())


def test_a_name_that_is_no_host_name() -> None:
    def fails(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
        host.encode("idna")
        raise AssertionError(host)

    with pytest.raises(ResolutionFailed, match="can't be resolved"):
        HostResolver(lookup=fails).resolve(endpoint(f"https://{'a' * 70}.test/"))


def test_a_resolver_that_does_not_answer_is_left_behind() -> None:
    release = threading.Event()

    def slow(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
        release.wait(10)
        return BOTH

    try:
        with pytest.raises(ResolutionFailed, match=r"not resolved within 0.05 s"):
            HostResolver(timeout_s=0.05, lookup=slow).resolve(endpoint())
    finally:
        release.set()

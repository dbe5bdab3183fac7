"""What may enter the catalogue, by the URL alone: no name is asked of the DNS."""

from __future__ import annotations

from typing import cast

import pytest

from lastbyte.domain.addresses import AddressRule
from lastbyte.domain.endpoint import Endpoint, Origin, endpoint_for_url
from lastbyte.domain.errors import Forbidden, InvalidInput
from lastbyte.ports import Catalogue, Resolver, Target
from lastbyte.services.guard import Guard


class _OurHosts:
    def endpoints(self) -> list[Endpoint]:
        return [Endpoint("t", "t", "https://10.9.9.9:8443/1MB.bin", "1MB", origin=Origin.TESTBED)]


class _NoDns:
    def resolve(self, endpoint: Endpoint) -> Target:
        raise AssertionError(f"{endpoint.host} was asked for")


def listed(url: str, *, any_port: bool = False, allowed: str = "") -> None:
    guard = Guard(cast("Catalogue", _OurHosts()), cast("Resolver", _NoDns()), AddressRule.parse(allowed))
    guard.check_listing(endpoint_for_url(url, ()), any_port=any_port)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "10.1.2.3", "169.254.169.254", "[::1]",
        "[::ffff:10.0.0.1]", "[fd00:ec2::254]", "0", "localhost", "LOCALHOST.", "a.localhost",
    ],
)  # fmt: skip
def test_addresses_inside_are_refused(host: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        listed(f"https://{host}/x", any_port=True)
    assert refused.value.field == "url"
    assert "LASTBYTE_ALLOWED_NETWORKS" in refused.value.remedy


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "a.localhost", "[::1]"])
def test_a_campaign_is_refused_them_without_asking_the_dns(host: str) -> None:
    guard = Guard(cast("Catalogue", _OurHosts()), cast("Resolver", _NoDns()), AddressRule.parse(""))
    with pytest.raises(InvalidInput) as refused:
        guard.check([f"https://{host}/x"], any_port=True)
    assert refused.value.field == "endpoints.0"


@pytest.mark.parametrize(
    "host", ["1.1.1.1", "[2606:4700:4700::1111]", "example.org", "10.example.org", "localhost.org"]
)
def test_public_addresses_and_names_pass(host: str) -> None:
    listed(f"https://{host}/x")
    listed(f"https://{host}:443/x")


def test_other_ports_need_admin() -> None:
    with pytest.raises(Forbidden) as refused:
        listed("https://example.org:8443/x")
    assert (refused.value.field, "8443" in refused.value.message, "admin" in refused.value.remedy) == (
        "url",
        True,
        True,
    )
    listed("https://example.org:8443/x", any_port=True)


def test_networks_of_the_operator_and_the_testbed_pass() -> None:
    listed("https://10.1.2.3/x", allowed="10.1.2.0/24")
    listed("https://10.9.9.9:8443/other.bin")
    listed("https://testbed-caddy.test:8443/1MB.bin")

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.domain.addresses import AddressRule, why_inside
from lastbyte.domain.errors import InvalidInput


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.1", "10.0.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.100.100.200",
        "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "::1", "::", "::ffff:8.8.8.8", "::7f00:1",
        "64:ff9b::808:808", "64:ff9b:1::1", "2002:808:808::1", "2001:0:808::1", "fd00:ec2::254", "fe80::1",
        "fe80::1%eth0", "ff02::1", "2001:db8::1", "4000::1", "localhost",
    ],
)  # fmt: skip
def test_what_leads_inside_is_named(address: str) -> None:
    assert why_inside(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700:4700::1111", "2a00:1450::1"])
def test_public_addresses_pass(address: str) -> None:
    assert why_inside(address) == ""


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_passes(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert why_inside(str(address))


def test_an_operator_may_allow_networks() -> None:
    rule = AddressRule.parse("192.168.7.0/24, fd00:1234::/48")
    assert rule.refusal("192.168.7.9") == ""
    assert rule.refusal("fd00:1234::9") == ""
    assert rule.refusal("192.168.8.9") == "private"
    with pytest.raises(InvalidInput, match="LASTBYTE_ALLOWED_NETWORKS"):
        AddressRule.parse("192.168.7.1/24")

"""A testbed in a container: which ports stand for its hosts, over both families, and how a path rewrites to them."""

from __future__ import annotations

import os

import pytest

from netem import nat
from netem.published import ruleset
from netem.uplinks import TestbedState
from testbed.catalogue import PROVIDERS
from testbed.places import Places, published_ports

ONE = PROVIDERS[0]
OWN6 = "fd6c:6173:7463:1::5"


def state(address6: str) -> TestbedState:
    return TestbedState.parse(
        {
            "pid": os.getpid(),
            "start_time": 1,
            "netns": "/proc/1/ns/net",
            "providers": [{"address": ONE.address, "address6": ONE.address6}],
            "published": {
                "address": "172.20.0.5",
                "address6": address6,
                "ports": published_ports(with_ipv6=bool(address6)),
            },
        }
    )


def test_a_container_with_one_family_is_reached_over_that_one() -> None:
    rules = ruleset(state("").published)
    port = Places(with_ipv6=False, published=True).of(ONE)[0].port
    assert f"ip daddr {ONE.address} tcp dport 443 dnat to 172.20.0.5:{port}\n" in rules
    assert f"ip daddr {ONE.address} udp dport 443 dnat to 172.20.0.5:{port}\n" in rules
    assert "ip6" not in rules


def test_a_container_with_both_is_reached_over_both_on_the_same_port() -> None:
    rules = ruleset(state(OWN6).published)
    v4, v6 = Places(with_ipv6=True, published=True, own_address6=OWN6).of(ONE)
    assert (v4.port, v6.address) == (v6.port, OWN6)
    assert f"add rule ip6 lastbyte_testbed prerouting ip6 daddr {ONE.address6} udp dport 443 dnat to {v6}\n" in rules
    assert rules.count("add table ip6 ") == rules.count("add table ip ") == 1
    assert rules.count("dnat to 172.20.0.5:") == rules.count(f"dnat to [{OWN6}]:")


def test_a_router_for_ipv6_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"ipv6/conf/all/forwarding": "1", "ipv6/conf/eth0/force_forwarding": "0"}
    monkeypatch.setattr(nat, "_read", values.get)
    assert nat._forwarding6("eth0") == {}
    values["ipv6/conf/all/forwarding"] = "0"
    assert nat._forwarding6("eth0") == {"ipv6/conf/eth0/force_forwarding": "1"}

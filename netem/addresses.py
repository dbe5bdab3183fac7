"""Addresses of a path: one /28 and one IPv6 /64 per slot, so that several paths can run at once. Pure.

Three links share them: client to uplink (through the box), uplink to testbed, uplink to host.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

IPV4_CANDIDATES = ("10.202.0.0/16", "172.29.0.0/16", "10.77.0.0/16")
"""1024 slots of 16 addresses fit in a quarter of each; the first that overlaps no route of the host is used."""
IPV6_BASE = IPv6Network("fd6c:6173:7462::/48")
"""A unique local prefix (RFC 4193): "lastb" in ASCII."""


@dataclass(frozen=True, slots=True)
class Link:
    """Two ends of a point-to-point link."""

    near: IPv4Address
    """The end closer to the client."""
    far: IPv4Address
    near6: IPv6Address
    far6: IPv6Address

    @property
    def network(self) -> IPv4Network:
        """The /30 both ends are in."""
        return IPv4Network((int(self.near) & ~3, 30))

    @property
    def network6(self) -> IPv6Network:
        """The /112 both ends are in."""
        return IPv6Network((int(self.near6) & ~0xFFFF, 112))


@dataclass(frozen=True, slots=True)
class Plan:
    """The addresses of one path."""

    slot: int
    access: Link
    """Client to uplink, through the box."""
    testbed: Link
    """Uplink to the testbed's namespace."""
    host: Link
    """Uplink to the host, for NAT."""


def plan(slot: int, base: IPv4Network) -> Plan:
    """Addresses for a slot."""
    block = int(base.network_address) + 16 * slot
    block6 = int(IPV6_BASE.network_address) + (slot << 64)

    def link(index: int) -> Link:
        low, low6 = block + 4 * index, block6 + (index << 16)
        return Link(IPv4Address(low + 1), IPv4Address(low + 2), IPv6Address(low6 + 1), IPv6Address(low6 + 2))

    return Plan(slot, link(0), link(1), link(2))


def free_base(routes: Iterable[IPv4Network]) -> IPv4Network | None:
    """The first candidate network that overlaps none of these; default routes don't count."""
    taken = [route for route in routes if route.prefixlen > 0]
    for text in IPV4_CANDIDATES:
        candidate = IPv4Network(text)
        if not any(candidate.overlaps(route) for route in taken):
            return candidate
    return None

"""Where the hosts of the testbed listen: on addresses of their own, or on ports of a container's one address."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from testbed.catalogue import FAULT_HOSTS, PROVIDERS, FaultHost, Provider

HTTPS_PORT = 443
_FIRST_PORT = 44300
"""A host of number n listens on this port plus n when it is published: no right is needed to bind it."""


@dataclass(frozen=True, slots=True)
class Place:
    """An address and a port that a server listens on."""

    address: str
    port: int = HTTPS_PORT

    @property
    def is_v6(self) -> bool:
        """Whether the address is an IPv6 one."""
        return ":" in self.address

    @property
    def family(self) -> socket.AddressFamily:
        """For socket(2)."""
        return socket.AF_INET6 if self.is_v6 else socket.AF_INET

    @property
    def reached_at(self) -> str:
        """Address by which the machine itself reaches it."""
        return "127.0.0.1" if self.address == "0.0.0.0" else self.address  # noqa: S104 - a comparison

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if self.is_v6 else f"{self.address}:{self.port}"


@dataclass(frozen=True, slots=True)
class Places:
    """Every host's places.

    ``published``: this process may not make a namespace (a container without rights), so all hosts share the address
    it has and differ by port; a worker's path maps the hosts' own addresses to those.
    """

    with_ipv6: bool = True
    published: bool = False
    own_address6: str = ""
    """This container's IPv6 address, where hosts listen too when they are published; empty: it has none."""

    def of(self, host: Provider | FaultHost) -> tuple[Place, ...]:
        """Where ``host`` listens, on TCP and on UDP."""
        if self.published:
            port = _FIRST_PORT + host.number
            everywhere = Place("0.0.0.0", port)  # noqa: S104 - a container's own network
            # by its address: a wildcard of IPv6 would take IPv4's place too
            return (everywhere, *((Place(self.own_address6, port),) if self.with_ipv6 else ()))
        return (Place(host.address), *((Place(host.address6),) if self.with_ipv6 else ()))


def published_ports(*, with_ipv6: bool) -> Mapping[str, int]:
    """Each address of each host -> port that stands for its port 443 when the testbed is published."""
    hosts: list[Provider | FaultHost] = [*PROVIDERS, *FAULT_HOSTS]
    ports = {host.address: _FIRST_PORT + host.number for host in hosts}
    return {**ports, **({host.address6: _FIRST_PORT + host.number for host in hosts} if with_ipv6 else {})}


def own_address() -> IPv4Address:
    """The IPv4 address by which others on this container's network reach it; nothing is sent to find out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # TEST-NET-1, RFC 5737: only the route is looked up
        return IPv4Address(probe.getsockname()[0])


def own_address6() -> str:
    """The IPv6 address by which others on this container's network reach it; empty when it has none."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.connect(("2001:db8::1", 9))  # for documentation, RFC 3849: only the route is looked up
            found = IPv6Address(probe.getsockname()[0])
    except OSError:
        return ""
    return "" if found.is_loopback or found.is_link_local else str(found)

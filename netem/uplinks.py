"""What lies behind the far port of the box: nothing, the testbed, the Internet, or both of the last two.

The uplink namespace is a router. Provider addresses of the testbed are routed into the testbed's namespace, all else to
the host, which masquerades. So one path serves every endpoint.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Protocol, Self

from lastbyte.domain.errors import PathUnavailable
from netem.addresses import Plan
from netem.namespaces import CommandFailed, Namespace, ipv6_here
from netem.rundir import Owner

FORWARDING_SYSCTLS = {
    "ipv4/ip_forward": "1",
    "ipv6/conf/all/forwarding": "1",
    # A router asks for its neighbours from its link-local address (RFC 4861, 7.2.2), so the links beyond the box
    # need one. The link through the box, made before, has none and is told its neighbours.
    "ipv6/conf/default/addr_gen_mode": "0",
}


SIGN_OF_LIFE_S = 4.0
"""A testbed in another container touches its file more often than this, in seconds."""


class Uplink(Protocol):
    """One thing plugged into the uplink namespace."""

    def attach(self, uplink: Namespace, plan: Plan, owner: Owner) -> None:
        """Plug in; raises PathUnavailable."""

    def is_alive(self) -> bool:
        """False when what it leads to is gone."""

    def close(self) -> None:
        """Unplug and restore. May be called twice."""


@dataclass(frozen=True, slots=True)
class TestbedState:
    """A running testbed, as its process describes itself in ``testbed.json``."""

    __test__ = False  # not a test, whatever its name starts with

    owner: Owner
    netns: str
    addresses: tuple[IPv4Address, ...]
    addresses6: tuple[IPv6Address, ...]
    published: tuple[tuple[IPv4Address | IPv6Address, str], ...] = ()
    """For a testbed in another container: a host's address -> "address:port" that stands for its port 443."""

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """The living testbed that the file describes; None when there is none."""
        try:
            state = cls.parse(json.loads(file.read_text(encoding="utf-8")))
            silent_s = time.time() - file.stat().st_mtime
        except (OSError, ValueError, KeyError, TypeError):
            return None
        alive = silent_s < SIGN_OF_LIFE_S if state.published else state.owner.is_alive
        return state if alive else None

    @classmethod
    def parse(cls, document: Mapping[str, object]) -> Self:
        """From the parsed file; raises KeyError, TypeError or ValueError when it is not of that form."""
        hosts: list[Mapping[str, str]] = []
        for group in (document["providers"], document.get("faults", [])):
            if not isinstance(group, list):
                raise TypeError("providers and faults must be lists")
            hosts += group
        texts = [host[key] for host in hosts for key in ("address", "address6") if host.get(key)]
        addresses = [ip_address(text) for text in texts]
        return cls(
            owner=Owner(int(str(document["pid"])), int(str(document["start_time"]))),
            netns=str(document["netns"]),
            addresses=tuple(item for item in addresses if isinstance(item, IPv4Address)),
            addresses6=tuple(item for item in addresses if isinstance(item, IPv6Address)),
            published=_published(document.get("published")),
        )


def _published(document: object) -> tuple[tuple[IPv4Address | IPv6Address, str], ...]:
    if document is None:
        return ()
    if not isinstance(document, Mapping) or not isinstance(document["ports"], Mapping):
        raise TypeError("published must hold an address and ports")
    where = str(IPv4Address(document["address"]))
    where6 = f"[{IPv6Address(document['address6'])}]" if document.get("address6") else ""
    hosts = [(ip_address(host), int(port)) for host, port in document["ports"].items()]
    return tuple((host, f"{where if host.version == 4 else where6}:{port}") for host, port in hosts)


class TestbedUplink:
    """A veth into the testbed's namespace, with a route to every address of a host there, the failing ones too."""

    __test__ = False

    def __init__(self, state_file: Path) -> None:
        self._file = state_file
        self._state: TestbedState | None = None

    def attach(self, uplink: Namespace, plan: Plan, owner: Owner) -> None:  # noqa: ARG002 (the namespace owns the veth)
        """Plug into the testbed; raises PathUnavailable when it does not run."""
        state = TestbedState.read(self._file)
        if state is None:
            raise PathUnavailable(f"No testbed is running ({self._file}). Start it, or choose another uplink.")
        link, name = plan.testbed, f"lbt{plan.slot}"
        v6 = ipv6_here()
        try:
            testbed = Namespace.open(state.netns)
        except OSError as exc:
            raise PathUnavailable(f"The testbed's namespace {state.netns} can't be entered: {exc.strerror}.") from exc
        try:
            drop_link(testbed, name)
            uplink.ip(f"link add testbed0 type veth peer name {name} netns {testbed.path}")
            testbed.ip(
                f"addr add {link.far}/{link.network.prefixlen} dev {name}",
                f"link set {name} up",
                f"route replace {plan.access.network} via {link.near} dev {name}",
            )
            uplink.ip(
                f"addr add {link.near}/{link.network.prefixlen} dev testbed0",
                "link set testbed0 up",
                *(f"route replace {address} via {link.far} dev testbed0" for address in state.addresses),
            )
            if v6:
                testbed.ip(
                    f"addr add {link.far6}/{link.network6.prefixlen} dev {name} nodad",
                    f"route replace {plan.access.network6} via {link.near6} dev {name}",
                )
                uplink.ip(
                    f"addr add {link.near6}/{link.network6.prefixlen} dev testbed0 nodad",
                    *(f"route replace {address} via {link.far6} dev testbed0" for address in state.addresses6),
                )
            uplink.offloads_off("testbed0", tx_checksum=False)
            testbed.offloads_off(name, tx_checksum=False)
        except OSError as exc:
            raise PathUnavailable(f"The testbed can't be plugged in: {exc}") from exc
        finally:
            testbed.close()
        self._state = state

    def is_alive(self) -> bool:
        """False when the testbed ended or another one took its place."""
        return self._state is not None and self._state == TestbedState.read(self._file)

    def close(self) -> None:
        """Nothing to do: the veth and its routes vanish with the uplink namespace."""


class AwaitedTestbed:
    """Stands in a path that was opened while no testbed ran: the path ends as soon as there is one to plug into."""

    def __init__(self, state_file: Path) -> None:
        self._file = state_file

    def attach(self, uplink: Namespace, plan: Plan, owner: Owner) -> None:
        """Nothing to plug into."""

    def is_alive(self) -> bool:
        """False once a testbed runs."""
        return TestbedState.read(self._file) is None

    def close(self) -> None:
        """Nothing to unplug."""


def drop_link(namespace: Namespace, name: str) -> None:
    """Remove an interface that a former owner of this slot may have left."""
    try:
        namespace.run("ip", "link", "del", name)
    except CommandFailed:
        return


def make_router(uplink: Namespace) -> None:
    """Let the uplink namespace forward; raises PathUnavailable where /proc/sys can't be written."""
    uplink.sysctl(FORWARDING_SYSCTLS, essential=True)

"""A testbed in a container of its own: reached over the host's network, its hosts' addresses mapped to its ports.

The container has one address and no rights, so its servers listen on a port per host. The uplink namespace, which is a
router anyway, rewrites destinations (nft(8), dnat); clients see the addresses and the port they always see.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from lastbyte.domain.errors import PathUnavailable
from netem.addresses import Plan
from netem.namespaces import Namespace
from netem.rundir import Owner
from netem.uplinks import TestbedState

TABLE = "lastbyte_testbed"


def ruleset(published: Sequence[tuple[IPv4Address | IPv6Address, str]]) -> str:
    """nft commands for the uplink namespace: HTTPS over TCP and UDP to each host goes to its published place."""
    lines = []
    for family, version in (("ip", 4), ("ip6", 6)):
        hosts = [(host, place) for host, place in published if host.version == version]
        if hosts:
            lines.append(f"add table {family} {TABLE}")
            hook = "{ type nat hook prerouting priority -100; policy accept; }"
            lines.append(f"add chain {family} {TABLE} prerouting {hook}")
        lines += [
            f"add rule {family} {TABLE} prerouting {family} daddr {host} {protocol} dport 443 dnat to {place}"
            for host, place in hosts
            for protocol in ("tcp", "udp")
        ]
    return "".join(f"{line}\n" for line in lines)


class PublishedTestbed:
    """Maps addresses in the uplink namespace; needs a ``NatUplink`` beside it for the way itself."""

    def __init__(self, state_file: Path) -> None:
        self._file = state_file
        self._state: TestbedState | None = None

    def attach(self, uplink: Namespace, plan: Plan, owner: Owner) -> None:  # noqa: ARG002 (the namespace owns the rules)
        """Set the rules; raises PathUnavailable when no testbed shows a sign of life."""
        state = TestbedState.read(self._file)
        if state is None or not state.published:
            raise PathUnavailable(f"No published testbed is running ({self._file}). Start it (profile testbed).")
        try:
            uplink.run("nft", "-f", "-", stdin=ruleset(state.published))
        except OSError as exc:
            raise PathUnavailable(f"The testbed's addresses can't be mapped: {exc}") from exc
        self._state = state

    def is_alive(self) -> bool:
        """False when the testbed fell silent or another one took its place."""
        return self._state is not None and self._state == TestbedState.read(self._file)

    def close(self) -> None:
        """Nothing to do: the rules vanish with the uplink namespace."""

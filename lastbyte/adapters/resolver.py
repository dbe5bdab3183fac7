"""Pins an endpoint to one address, outside the shaped path, so that every arm of a cell connects to the same one."""

from __future__ import annotations

import enum
import ipaddress
import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lastbyte.domain.addresses import AddressRule
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import AddressRefused, ResolutionFailed
from lastbyte.ports import Target


class Family(enum.StrEnum):
    """Which address family a cell uses; one per cell, never mixed between arms."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"
    PREFER_IPV4 = "prefer-ipv4"
    PREFER_IPV6 = "prefer-ipv6"


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host that is not asked of the DNS: one of the testbed."""

    address: str
    ca_file: Path | None = None
    address6: str | None = None


_WANTED = {
    Family.IPV4: (socket.AF_INET,),
    Family.IPV6: (socket.AF_INET6,),
    Family.PREFER_IPV4: (socket.AF_INET, socket.AF_INET6),
    Family.PREFER_IPV6: (socket.AF_INET6, socket.AF_INET),
}
_GUIDE = "Check the name in the URL, and that this machine's DNS works."

Lookup = Callable[[str, int], list[tuple[socket.AddressFamily, str]]]


class HostResolver:
    """Resolves hosts (implements ``lastbyte.ports.Resolver``).

    ``known`` gives the testbed's hosts, as a mapping or as a function that reads them anew each time (a testbed may be
    started again with another CA); every other host is asked of the system's resolver.

    With a ``rule``, a host of which any address is refused is refused as a whole. The address that was checked is the
    one in the Target, and clients connect to that one: another answer of the DNS in between changes nothing.
    """

    def __init__(
        self,
        known: Mapping[str, KnownHost] | Callable[[], Mapping[str, KnownHost]] | None = None,
        *,
        family: Family = Family.PREFER_IPV4,
        timeout_s: float = 10.0,
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
        rule: AddressRule | None = None,
    ) -> None:
        self._known = known if callable(known) else (lambda: known or {})
        self._family = family
        self._timeout_s = timeout_s
        self._ca_file = ca_file
        self._lookup = lookup or _system_lookup
        self._rule = rule

    def resolve(self, endpoint: Endpoint) -> Target:
        """Pin ``endpoint``; raises ResolutionFailed saying which host and why."""
        host = endpoint.host
        known = self._known().get(host)
        if known is not None:
            found = [(socket.AF_INET, known.address)]
            if known.address6:
                found.append((socket.AF_INET6, known.address6))
            return Target(endpoint, self._choose(host, found), 0.0, known.ca_file)
        literal = _literal(host)
        if literal is not None:
            self._check(host, [literal])
            return Target(endpoint, self._choose(host, [literal]), 0.0, self._ca_file)
        started = time.monotonic()
        addresses = self._looked_up(host, endpoint.port)
        self._check(host, addresses)
        return Target(endpoint, self._choose(host, addresses), time.monotonic() - started, self._ca_file)

    def _check(self, host: str, found: list[tuple[socket.AddressFamily, str]]) -> None:
        """Raises AddressRefused."""
        if self._rule is None:
            return
        for _, address in found:
            if why := self._rule.refusal(address):
                raise AddressRefused(f"{host} leads to {address} ({why}), which workers don't connect to.")

    def _choose(self, host: str, found: list[tuple[socket.AddressFamily, str]]) -> str:
        for family in _WANTED[self._family]:
            for candidate, address in found:
                if candidate == family:
                    return address
        raise ResolutionFailed(f"{host} has no {self._family.value} address.")

    def _looked_up(self, host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
        """getaddrinfo(3) has no time limit of its own, so it runs in a thread that may be left behind."""
        answer: queue.SimpleQueue[list[tuple[socket.AddressFamily, str]] | OSError] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answer.put(self._lookup(host, port))
            except (OSError, UnicodeError) as exc:
                answer.put(exc if isinstance(exc, OSError) else OSError(str(exc)))

        threading.Thread(target=ask, name=f"resolve {host}", daemon=True).start()
        try:
            result = answer.get(timeout=self._timeout_s)
        except queue.Empty:
            raise ResolutionFailed(f"{host} was not resolved within {self._timeout_s:g} s. {_GUIDE}") from None
        if isinstance(result, OSError):
            reason = result.strerror or str(result)
            raise ResolutionFailed(f"{host} can't be resolved: {reason}. {_GUIDE}") from result
        return result


def _system_lookup(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, str(address[0])) for family, _, _, _, address in answers]


def _literal(host: str) -> tuple[socket.AddressFamily, str] | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return (socket.AF_INET if address.version == 4 else socket.AF_INET6), str(address)

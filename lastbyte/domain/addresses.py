"""Which addresses may be measured. People name URLs and our workers fetch them, from inside of some network; an address
that leads into a network, rather than to a public server, is refused.

The lists are IANA's registries of special-purpose addresses (RFC 6890 and its updates), and the clouds' metadata.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import inet_aton, inet_ntoa

from lastbyte.domain.errors import InvalidInput

Network = IPv4Network | IPv6Network

_V4 = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by a provider's customers",
    "127.0.0.0/8": "loopback",
    "168.63.129.16/32": "a cloud's metadata",
    "169.254.0.0/16": "link-local; clouds keep their metadata there",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "protocol assignments",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "6to4 relays",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "benchmarks of devices",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved or broadcast",
}
_V6 = {
    "::1/128": "loopback",
    "::/128": "unspecified",
    "::ffff:0:0/96": "IPv4-mapped",
    "::/96": "IPv4-compatible",
    "64:ff9b::/96": "NAT64",
    "64:ff9b:1::/48": "NAT64 of a network",
    "2001::/32": "Teredo",
    "2001::/23": "protocol assignments",
    "2001:db8::/32": "documentation",
    "2002::/16": "6to4",
    "3fff::/20": "documentation",
    "fc00::/7": "private (unique local)",
    "fe80::/10": "link-local",
    "fec0::/10": "site-local",
    "ff00::/8": "multicast",
}
_REFUSED: tuple[tuple[Network, str], ...] = tuple((ip_network(net), why) for net, why in {**_V4, **_V6}.items())
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_LOCAL_NAME = re.compile(r"(.+\.)?localhost\.?", re.IGNORECASE)
_OLD_IPV4 = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}", re.IGNORECASE)


def why_inside(address: str) -> str:
    """Why the address leads into a network rather than to a public server; empty when it does not.

    >>> why_inside("10.1.2.3"), why_inside("::ffff:127.0.0.1"), why_inside("1.1.1.1")
    ('private', 'IPv4-mapped', '')
    """
    try:
        found: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return "no address"
    if isinstance(found, IPv6Address) and found.scope_id is not None:
        return "link-local"
    for network, why in _REFUSED:
        if found.version == network.version and found in network:
            return why
    if isinstance(found, IPv6Address) and found not in _GLOBAL_UNICAST:
        return "not a global unicast address"
    return ""


def literal_address(host: str) -> str:
    """The address that ``host`` writes out, also in the old ways that resolvers still read; empty for a name.

    >>> literal_address("127.1"), literal_address("0x7f000001"), literal_address("::1"), literal_address("a.b")
    ('127.0.0.1', '127.0.0.1', '::1', '')
    """
    if _LOCAL_NAME.fullmatch(host):
        return "127.0.0.1"  # RFC 6761, 6.3: never asked of the DNS
    with suppress(ValueError):
        return str(ip_address(host))
    if _OLD_IPV4.fullmatch(host):
        with suppress(OSError):
            return inet_ntoa(inet_aton(host))
    return ""


@dataclass(frozen=True, slots=True)
class AddressRule:
    """What a worker may connect to: public addresses, and networks that its operator named."""

    allowed: Sequence[Network] = field(default=())

    @classmethod
    def parse(cls, text: str, setting: str = "LASTBYTE_ALLOWED_NETWORKS") -> AddressRule:
        """From networks in CIDR notation, separated by commas; raises InvalidInput naming the setting."""
        try:
            return cls(tuple(ip_network(part.strip()) for part in text.split(",") if part.strip()))
        except ValueError as exc:
            raise InvalidInput(setting, f"{exc}.", "Example: 192.168.7.0/24, fd00:1234::/48") from exc

    def refusal(self, address: str) -> str:
        """Why the address is refused; empty when it is not."""
        why = why_inside(address)
        if not why or why == "no address":
            return why
        found = ip_address(address)
        return "" if any(found.version == net.version and found in net for net in self.allowed) else why

"""What the testbed stands for: three providers, three objects and pages each, and the hosts that fail on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lastbyte.domain.endpoint import Endpoint, EndpointKind, Origin
from testbed.pages import SHAPES, document_name, document_sha256

DIGESTS: Mapping[str, str] = {
    "100KB": "949d4216f5201fad7136028673db6688fc287acc1aeb226045d2a79db55ec6a3",
    "1MB": "22863e6d992c39846f0672ae5b229c856c78e2b81c33a9e6fe93d0fb2fca8a56",
    "5MB": "c23e662abf3b08c8e2971331dc919ae9fb8b8be9c87229d3e2efd21ce6c992da",
}
"""SHA-256 of each object, which is the same on every machine."""
OBJECTS: Mapping[str, int] = {"100KB": 100_000, "1MB": 1_000_000, "5MB": 5_000_000}
"""Size label to body size in bytes."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A stand-in for a provider: one server program at one pair of addresses."""

    name: str
    server: str
    """Program that serves it: ``caddy``, ``nginx`` or ``haproxy``."""
    number: int
    """Third byte of its address: 10.200.<number>.1."""
    base_rtt_ms: float
    """Distance that the path's box adds, in ms of round trip; the testbed itself adds none."""
    tcp_congestion_control: str
    """What its TCP asks for; where the kernel lacks it, the namespace's default is used and stated."""
    quic_congestion_control: str
    """What its QUIC stack uses; see docs/testbed.md for where each is from."""

    @property
    def host(self) -> str:
        """Name in URLs and in its certificate."""
        return f"{self.name}.test"

    @property
    def address(self) -> str:
        """IPv4 address."""
        return ipv4(self.number)

    @property
    def address6(self) -> str:
        """IPv6 address (a unique local one, RFC 4193)."""
        return ipv6(self.number)

    @property
    def names(self) -> tuple[str, str]:
        """Its name, and the names below it that its pages use, as certificates and servers write them."""
        return self.host, f"*.{self.host}"

    def url(self, size_label: str) -> str:
        """URL of one object."""
        return f"https://{self.host}/{size_label}.bin"


def ipv4(number: int) -> str:
    """Address of the testbed's host ``number``."""
    return f"10.200.{number}.1"


def ipv6(number: int) -> str:
    """Address of the testbed's host ``number``, below fd4c:4254:200::/48."""
    return f"fd4c:4254:200:{number}::1"


PROVIDERS: tuple[Provider, ...] = (
    Provider("testbed-caddy", "caddy", 1, 10.0, "cubic", "reno"),
    Provider("testbed-nginx", "nginx", 2, 20.0, "cubic", "cubic"),
    # BBR over TCP beside CUBIC over QUIC is a deployment that exists; results differ by it under loss.
    Provider("testbed-haproxy", "haproxy", 3, 40.0, "bbr", "cubic"),
)


@dataclass(frozen=True, slots=True)
class FaultHost:
    """A host that misbehaves on purpose, so that each kind of failure can be met on a real socket."""

    name: str
    number: int
    behaviour: str

    @property
    def host(self) -> str:
        """Name in URLs."""
        return f"{self.name}.test"

    @property
    def address(self) -> str:
        """IPv4 address."""
        return ipv4(self.number)

    @property
    def address6(self) -> str:
        """IPv6 address."""
        return ipv6(self.number)


FAULTS = FaultHost(
    "testbed-faults",
    8,
    "H2 and H3; /short.bin breaks off after half of its 1 MB, /stall.bin sends half of it and then nothing, "
    "/never-loads.html is a page that waits for that, every other path is 404",
)
H2ONLY = FaultHost("testbed-h2only", 9, "H2 on TCP 443 with /100KB.bin; nothing on UDP 443")
BADCERT = FaultHost("testbed-badcert", 10, "H2 and H3 with a certificate from an authority that nobody trusts")
REFUSED = FaultHost("testbed-refused", 11, "nothing listens: TCP resets, ICMP port unreachable for UDP")
SILENT = FaultHost("testbed-silent", 12, "accepts TCP connections and UDP datagrams, never answers")
FAULT_HOSTS: tuple[FaultHost, ...] = (FAULTS, H2ONLY, BADCERT, REFUSED, SILENT)

SUBNET = "10.200.0.0/16"
"""IPv4 network of all testbed hosts; a path routes it to the testbed's namespace."""
SUBNET6 = "fd4c:4254:200::/48"
"""IPv6 network of all testbed hosts."""

FAULT_BODY_BYTES = 1_000_000
"""Announced size of the fault objects, in bytes; half of it is sent."""


def addresses(*, with_ipv6: bool = True) -> list[str]:
    """Every address that the namespace owns."""
    numbers = [*(provider.number for provider in PROVIDERS), *(host.number for host in FAULT_HOSTS)]
    return [ipv4(number) for number in numbers] + ([ipv6(number) for number in numbers] if with_ipv6 else [])


def endpoints() -> list[Endpoint]:
    """Nine objects and nine pages, ids like ``testbed-caddy-100KB`` and ``testbed-caddy-page-small``.

    The digest of a page is that of its document.
    """
    objects = [
        Endpoint(
            id=f"{provider.name}-{label}",
            provider=provider.name,
            url=provider.url(label),
            size_label=label,
            kind=EndpointKind.OBJECT,
            origin=Origin.TESTBED,
            expected_bytes=size,
            expected_sha256=DIGESTS[label],
            base_rtt_ms=provider.base_rtt_ms,
        )
        for provider in PROVIDERS
        for label, size in OBJECTS.items()
    ]
    pages = [
        Endpoint(
            id=f"{provider.name}-page-{shape.label}",
            provider=provider.name,
            url=f"https://{provider.host}/{document_name(provider.name, shape.label)}",
            size_label=shape.label,
            kind=EndpointKind.PAGE,
            origin=Origin.TESTBED,
            expected_sha256=document_sha256(provider.name, provider.host, shape),
            base_rtt_ms=provider.base_rtt_ms,
        )
        for provider in PROVIDERS
        for shape in SHAPES
    ]
    return [*objects, *pages]

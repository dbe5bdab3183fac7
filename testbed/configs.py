"""Configuration of the testbed's servers, rendered from the templates. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from lastbyte.domain.errors import InvalidInput
from testbed.catalogue import BADCERT, FAULTS, H2ONLY, PROVIDERS, Provider
from testbed.certificates import Certificates
from testbed.places import HTTPS_PORT, Place, Places

BACKEND_PORT = 8080
"""Loopback port, inside the namespace, of nginx's plain origin."""
FAULTS_PORT = 8081
"""Loopback port, inside the namespace, of the origin that breaks off and stalls."""


class _PercentTemplate(Template):
    """``%{name}``: nginx and shells own the dollar sign, Caddy the bare braces."""

    delimiter = "%"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the testbed keeps its files, all below one folder."""

    folder: Path

    @property
    def certificates(self) -> Path:
        """Folder of the certificates."""
        return self.folder / "certificates"

    @property
    def objects(self) -> Path:
        """Folder of the objects."""
        return self.folder / "objects"

    def work(self, server: str) -> Path:
        """Folder of one server: configuration, pid file, log."""
        return self.folder / server


def provider_of(server: str) -> Provider:
    """The stand-in that ``server`` serves."""
    return next(provider for provider in PROVIDERS if provider.server == server)


def caddyfile(layout: Layout, certs: Certificates, sockets: Sequence[int], places: Places) -> str:
    """Configuration of Caddy; ``sockets`` are the listening TCP descriptors that it inherits."""
    provider = provider_of("caddy")
    found = places.of(provider)
    return _render(
        "Caddyfile",
        {
            "sites": ", ".join(
                f"https://{name}" if found[0].port == HTTPS_PORT else f"https://{name}:{found[0].port}"
                for name in provider.names
            ),
            "tcp": " ".join(f"fd/{descriptor}" for descriptor in sockets),
            "udp": " ".join(place.address for place in found),
            "chain": certs.chain,
            "key": certs.key,
            "objects": layout.objects,
        },
    )


def nginx_conf(layout: Layout, certs: Certificates, places: Places) -> str:
    """Configuration of the nginx that stands for a provider and serves HAProxy's objects."""
    provider = provider_of("nginx")
    return _render(
        "nginx.conf",
        {
            "work": layout.work("nginx"),
            "chain": certs.chain,
            "key": certs.key,
            "names": " ".join(provider.names),
            "objects": layout.objects,
            "backend_port": BACKEND_PORT,
            "listens": _listens(places.of(provider)),
        },
    )


def haproxy_cfg(certs: Certificates, sockets: Sequence[int], places: Places) -> str:
    """Configuration of HAProxy; ``sockets`` are the listening TCP descriptors that it inherits."""
    provider = provider_of("haproxy")
    crt = f"ssl crt {certs.combined}"
    lines = [f"    bind fd@{descriptor} {crt} alpn h2,http/1.1" for descriptor in sockets]
    quic = f"{crt} alpn h3 quic-cc-algo {provider.quic_congestion_control}"
    for place in places.of(provider):
        family = "quic6" if place.is_v6 else "quic4"
        lines.append(f"    bind {family}@{place.address}:{place.port} {quic}")
    return _render("haproxy.cfg", {"binds": "\n".join(lines), "backend_port": BACKEND_PORT})


def faults_conf(layout: Layout, certs: Certificates, places: Places) -> str:
    """Configuration of the nginx that serves the hosts that fail on purpose."""
    hosts = {
        f"{key}_listens": _listens(places.of(host), quic=host is not H2ONLY)
        for key, host in (("faults", FAULTS), ("h2only", H2ONLY), ("badcert", BADCERT))
    }
    return _render(
        "faults.conf",
        {
            **hosts,
            "work": layout.work("faults"),
            "chain": certs.chain,
            "key": certs.key,
            "bad_chain": certs.bad_chain,
            "bad_key": certs.bad_key,
            "objects": layout.objects,
            "faults_port": FAULTS_PORT,
            "faults_host": FAULTS.host,
            "h2only_host": H2ONLY.host,
            "badcert_host": BADCERT.host,
        },
    )


def _listens(places: Sequence[Place], *, quic: bool = True) -> str:
    lines = []
    for place in places:
        lines.append(f"        listen {place} ssl;")
        if quic:
            lines.append(f"        listen {place} quic reuseport;")
    return "\n".join(lines)


def _render(template: str, values: Mapping[str, object]) -> str:
    for name, value in values.items():
        if isinstance(value, Path) and any(c in str(value) for c in " \t\n\"';{}#\\"):
            raise InvalidInput(
                name, f"{value} holds a character that a server's configuration can't.", "Choose another LASTBYTE_VAR."
            )
    text = resources.files("testbed").joinpath("templates", template).read_text()
    return _PercentTemplate(text).substitute({name: str(value) for name, value in values.items()})

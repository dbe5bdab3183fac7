"""Endpoints: the URLs that are measured."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from lastbyte.domain.errors import InvalidInput


class EndpointKind(enum.StrEnum):
    """What a fetch of the endpoint means."""

    OBJECT = "object"
    PAGE = "page"


class Origin(enum.StrEnum):
    """Where the endpoint lives. Testbed results are never shown as production ones."""

    PRODUCTION = "production"
    TESTBED = "testbed"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One URL to measure."""

    id: str
    """Stable slug, for example ``google-100KB`` or ``testbed-caddy-1MB``."""
    provider: str
    url: str
    size_label: str
    """Nominal size as people say it: ``100KB``, ``1MB``, ``5MB``; ``small``, ``medium``, ``large`` for pages."""
    kind: EndpointKind = EndpointKind.OBJECT
    origin: Origin = Origin.PRODUCTION
    expected_bytes: int | None = None
    """Body size to assert, in bytes; None: not asserted."""
    base_rtt_ms: float = 0.0
    """Round-trip time in ms that the box adds to stand for this origin's distance; 0 for production."""
    expected_sha256: str | None = None
    """SHA-256 of the body to assert, in lower case hex; None: not asserted."""

    @property
    def host(self) -> str:
        """Host name of the URL, lower case."""
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """Port of the URL; 443 when it names none."""
        return urlsplit(self.url).port or 443


def validate_url(url: str, field: str = "url") -> None:
    """Raise InvalidInput unless ``url`` is an absolute https URL that a client can fetch."""
    if any(c.isspace() or ord(c) < 32 for c in url):
        raise InvalidInput(field, f"{url!r} holds white space or control characters.", "Percent-encode them.")
    if not url.isascii():
        raise InvalidInput(
            field,
            f"{url!r} holds characters outside ASCII.",
            "Percent-encode the path and write the host in its xn-- form (RFC 3986).",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise InvalidInput(field, f"{url!r} is not a URL: {exc}.", "Example: https://example.org/file") from exc
    if parts.scheme != "https":
        raise InvalidInput(
            field,
            f"{url!r} does not start with https://.",
            "HTTP/2 and HTTP/3 are compared over TLS; give an https URL.",
        )
    if not parts.hostname:
        raise InvalidInput(field, f"{url!r} names no host.", "Example: https://example.org/file")
    if parts.username or parts.password:
        raise InvalidInput(field, "the URL holds a user name or password.", "Leave credentials out.")
    if port == 0:
        raise InvalidInput(field, "port 0 can't be connected to.", "Leave the port out for 443.")


_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>B|KB|MB|GB)", re.IGNORECASE)
_PAGE_ORDER = {"small": 1.0, "medium": 2.0, "large": 3.0}


def size_order(label: str) -> float:
    """Sort key that puts 100KB before 1MB before 5MB, and small before medium before large; others first."""
    match = _SIZE.fullmatch(label)
    if match:
        factor = {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9}[match["unit"].lower()]
        return float(match["number"]) * factor
    return _PAGE_ORDER.get(label, 0.0)


_TESTBED_SUFFIX = ".test"
"""Reserved (RFC 6761): never a production host, so a host that ends with it is of the testbed."""


def endpoint_for_url(url: str, known: Sequence[Endpoint], field: str = "url") -> Endpoint:
    """The endpoint that ``url`` means: the known one with that URL, else one made for it, whose id is the URL.

    A made one shares provider, origin and base RTT with a known endpoint on the same host. Raises InvalidInput.
    """
    validate_url(url, field)
    for endpoint in known:
        if endpoint.url == url:
            return endpoint
    made = Endpoint(id=url, provider="", url=url, size_label="")
    like = next((endpoint for endpoint in known if endpoint.host == made.host), None)
    testbed = made.host.endswith(_TESTBED_SUFFIX)
    return Endpoint(
        id=url,
        provider=like.provider if like else made.host,
        url=url,
        size_label=urlsplit(url).path.rstrip("/").rsplit("/", 1)[-1] or "/",
        origin=like.origin if like else Origin.TESTBED if testbed else Origin.PRODUCTION,
        base_rtt_ms=like.base_rtt_ms if like else 0.0,
    )

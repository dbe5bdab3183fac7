"""What a whole page's load came to, beside its TTLB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PageLoad:
    """One load of a page with all that it consists of.

    Times in seconds from the start of the first connection, as TTLB, which is here that of the last resource. Resources
    are those asked for over the network before the load event (https://www.w3.org/TR/navigation-timing-2/).
    """

    resources: int
    """That were answered, the document included."""
    body_bytes: int
    """Of all bodies, decompressed."""
    transferred_bytes: int
    """Of all answers with their headers, as compressed."""
    connections: int
    """New ones that answered something."""
    protocols: Mapping[str, int]
    """``h2``, ``h3``, ... -> resources that came over it (ALPN, RFC 7301)."""
    load_s: float | None = None
    """Load event; None: it did not come."""
    fcp_s: float | None = None
    """First contentful paint (https://www.w3.org/TR/paint-timing/)."""
    lcp_s: float | None = None
    """Largest contentful paint until shortly after the load event (https://www.w3.org/TR/largest-contentful-paint/)."""
    failed_resources: int = 0
    """Answered with a status of 400 or above."""
    hosts: int = 0
    """Names that answered."""
    blocked_hosts: tuple[str, ...] = field(default=())
    """Names that were asked for and are none of the page's own: nothing was loaded from them."""

    def share(self, protocol: str) -> float:
        """Share of resources that came over ``protocol``, 0 to 1."""
        total = sum(self.protocols.values())
        return self.protocols.get(protocol, 0) / total if total else 0.0

"""What a campaign may be pointed at: checked when it is made, so that people learn at once, and again by the worker.

The worker decides (``lastbyte.adapters.resolver`` with the same rule, at the moment when the address is pinned).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from lastbyte.domain.endpoint import Endpoint, Origin, endpoint_for_url
from lastbyte.domain.errors import AddressRefused, Forbidden, InvalidInput, ResolutionFailed
from lastbyte.ports import Catalogue, Resolver

HTTPS_PORT = 443
_AT_ONCE = 16


class Guard:
    """Checks URLs that are not in the catalogue; what is in it was put there by an administrator."""

    def __init__(self, catalogue: Catalogue, resolver: Resolver) -> None:
        self._catalogue = catalogue
        self._resolver = resolver

    def check(self, names: Sequence[str], *, any_port: bool, field: str = "endpoints") -> None:
        """Raises Forbidden for a port other than 443 unless ``any_port``, and InvalidInput for an address inside of a
        network. A host that does not resolve here passes: it may where the worker is."""
        if not any("://" in name for name in names):
            return
        known = self._catalogue.endpoints()
        listed = {endpoint.url for endpoint in known}
        ours = {endpoint.host for endpoint in known if endpoint.origin is Origin.TESTBED}
        foreign: dict[str, tuple[str, Endpoint]] = {}
        for index, name in enumerate(names):
            if "://" not in name or name in listed:
                continue
            place = f"{field}.{index}"
            endpoint = endpoint_for_url(name, known, place)
            if endpoint.host in ours:
                continue
            if endpoint.port != HTTPS_PORT and not any_port:
                raise Forbidden(f"{place}: port {endpoint.port} needs a key with scope admin; others may use 443 only.")
            foreign.setdefault(endpoint.host, (place, endpoint))
        if foreign:
            with ThreadPoolExecutor(min(_AT_ONCE, len(foreign))) as pool:
                list(pool.map(self._check_address, foreign.values()))

    def _check_address(self, item: tuple[str, Endpoint]) -> None:
        place, endpoint = item
        try:
            self._resolver.resolve(endpoint)
        except AddressRefused as exc:
            remedy = "Name a public server, or have the operator allow the network (LASTBYTE_ALLOWED_NETWORKS)."
            raise InvalidInput(place, str(exc), remedy) from exc
        except ResolutionFailed:
            return

"""What a campaign may be pointed at: checked when it is made, so that people learn at once, and again by the worker.

The worker decides (``lastbyte.adapters.resolver`` with the same rule, at the moment when the address is pinned).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from lastbyte.domain.addresses import AddressRule, literal_address
from lastbyte.domain.endpoint import Endpoint, Origin, endpoint_for_url
from lastbyte.domain.errors import AddressRefused, Forbidden, InvalidInput, ResolutionFailed
from lastbyte.ports import Catalogue, Resolver

HTTPS_PORT = 443
_AT_ONCE = 16
_REMEDY = "Name a public server, or have the operator allow the network (LASTBYTE_ALLOWED_NETWORKS)."


class Guard:
    """Checks URLs that are not in the catalogue, and endpoints that people put into it. ``rule`` is the resolver's."""

    def __init__(self, catalogue: Catalogue, resolver: Resolver, rule: AddressRule) -> None:
        self._catalogue = catalogue
        self._resolver = resolver
        self._rule = rule

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
            _check_port(endpoint, place, any_port=any_port)
            foreign.setdefault(endpoint.host, (place, endpoint))
        if foreign:
            with ThreadPoolExecutor(min(_AT_ONCE, len(foreign))) as pool:
                list(pool.map(self._check_address, foreign.values()))

    def check_listing(self, endpoint: Endpoint, *, any_port: bool, field: str = "url") -> None:
        """For an endpoint that enters the catalogue: raises Forbidden as ``check`` does, and InvalidInput for a host
        that writes out an address inside of a network. Names are not asked of the DNS here: what they lead to may
        change until they are fetched, and is judged then."""
        ours = {known.host for known in self._catalogue.endpoints() if known.origin is Origin.TESTBED}
        if endpoint.origin is Origin.TESTBED or endpoint.host in ours:
            return
        _check_port(endpoint, field, any_port=any_port)
        self._check_literal(endpoint, field)

    def _check_literal(self, endpoint: Endpoint, field: str) -> None:
        """An address that is written out, ``localhost`` among them (RFC 6761), needs no DNS to be judged."""
        address = literal_address(endpoint.host)
        if address and (why := self._rule.refusal(address)):
            leads = "is" if address == endpoint.host else f"is {address}:"
            raise InvalidInput(field, f"{endpoint.host} {leads} {why}, which workers don't connect to.", _REMEDY)

    def _check_address(self, item: tuple[str, Endpoint]) -> None:
        place, endpoint = item
        self._check_literal(endpoint, place)
        try:
            self._resolver.resolve(endpoint)
        except AddressRefused as exc:
            raise InvalidInput(place, str(exc), _REMEDY) from exc
        except ResolutionFailed:
            return


def _check_port(endpoint: Endpoint, field: str, *, any_port: bool) -> None:
    if endpoint.port != HTTPS_PORT and not any_port:
        remedy = "Leave the port out for 443, or use a key with scope admin."
        raise Forbidden(f"port {endpoint.port} needs a key with scope admin; others may use 443 only.", field, remedy)

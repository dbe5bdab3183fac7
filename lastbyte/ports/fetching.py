"""One fetch: from a pinned address, by a client program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Protocol

from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.trial import Observation


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint with its address pinned."""

    endpoint: Endpoint
    address: str
    """IPv4 or IPv6 literal that every arm connects to."""
    resolution_s: float = 0.0
    """Time that name resolution took, in seconds; never part of TTLB."""
    ca_file: FilePath | None = None
    """CA bundle that every arm trusts; None: each program's own default."""


class Resolver(Protocol):
    """Pins an endpoint to an address, outside the shaped path."""

    def resolve(self, endpoint: Endpoint) -> Target:
        """Raises ResolutionFailed."""


class ClientRunner(Protocol):
    """Runs one fetch."""

    def build_of(self, client: Client) -> ClientBuild:
        """The installed build; raises ClientUnavailable."""

    def command_for(self, client: Client, target: Target, timeout_s: float) -> list[str]:
        """The exact argument list, without the namespace prefix, to show or to run by hand."""

    def run(self, client: Client, target: Target, prefix: Sequence[str], timeout_s: float) -> Observation:
        """Fetch once; a failed fetch is an Observation with a failure, never an exception."""

    def terminate_current(self) -> None:
        """End the fetch under way, from another thread; nothing to do when there is none."""

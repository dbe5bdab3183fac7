"""What can be measured, and with what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile


@dataclass(frozen=True, slots=True)
class SeenBuild:
    """A build that ran a trial somewhere."""

    build: ClientBuild
    first_seen_at: datetime


class Catalogue(Protocol):
    """What can be measured, and with what."""

    def sync(self, endpoints: Sequence[Endpoint], profiles: Sequence[Profile], clients: Sequence[Client]) -> None:
        """Make the catalogue be these; what is no longer there is kept for old campaigns, but not listed."""

    def endpoints(self) -> list[Endpoint]:
        """In catalogue order."""

    def profiles(self) -> list[Profile]:
        """In catalogue order."""

    def clients(self) -> list[Client]:
        """In catalogue order."""

    def builds(self) -> list[SeenBuild]:
        """Oldest first."""

    def ping(self) -> None:
        """Raises StoreUnavailable when the store does not answer."""

"""Endpoints and profiles that people make and change; the catalogue's files then have no say over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lastbyte.domain.courtesy import BudgetChange
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile


@dataclass(frozen=True, slots=True)
class EndpointEntry:
    """An endpoint of the catalogue with what only the catalogue knows of it."""

    endpoint: Endpoint
    own: bool
    """Made or changed by people, so that the catalogue's files have no say over it."""
    budget: BudgetChange
    """Where its courtesy budget differs from that of others."""


class CatalogueEditor(Protocol):
    """Changes the catalogue. Campaigns keep the copies they were planned with."""

    def entries(self) -> list[EndpointEntry]:
        """Endpoints that can be measured, in catalogue order."""

    def entry(self, endpoint_id: str) -> EndpointEntry:
        """Raises NotFound."""

    def add_endpoint(self, endpoint: Endpoint, budget: BudgetChange) -> None:
        """Raises Conflict when there is one of that id."""

    def change_endpoint(self, endpoint: Endpoint, budget: BudgetChange) -> None:
        """Raises NotFound."""

    def retire_endpoint(self, endpoint_id: str) -> None:
        """List it no more. Raises NotFound."""

    def own_profiles(self) -> frozenset[str]:
        """Names of profiles that people made or changed."""

    def add_profile(self, profile: Profile) -> None:
        """Raises Conflict when there is one of that name."""

    def change_profile(self, profile: Profile) -> None:
        """Raises NotFound."""

    def retire_profile(self, name: str) -> None:
        """List it no more. Raises NotFound."""

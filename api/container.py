"""What the routes work with, as ports; filled in by ``api.wiring`` or by a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from lastbyte.ports import CampaignStore, Catalogue, CellQueue, ResultStore, VantageStore
from lastbyte.services.campaigns import Campaigns
from lastbyte.services.client_comparison import ClientsComparisons
from lastbyte.services.heatmap import Heatmaps


@dataclass(frozen=True, slots=True)
class Container:
    """Everything that outlives a request."""

    catalogue: Catalogue
    vantages: VantageStore
    campaign_store: CampaignStore
    results: ResultStore
    queue: CellQueue
    campaigns: Campaigns
    heatmaps: Heatmaps
    clients_comparisons: ClientsComparisons
    sync_catalogue: Callable[[], None]
    """Bring the catalogue's files into the store; raises StoreUnavailable."""
    close: Callable[[], None]


def container_of(request: Request) -> Container:
    """The container of the application that serves this request."""
    container: Container = request.app.state.container
    return container


Wired = Annotated[Container, Depends(container_of)]

"""What the routes work with, as ports; filled in by ``api.wiring`` or by a test."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from api.events import CampaignEvents
from api.idempotency import Keys
from api.kept import AnswersInMemory, KeptAnswers
from api.rendered import RenderedCampaigns
from lastbyte.adapters.artifact_files import ArtifactFiles
from lastbyte.adapters.postgres.gauges import PostgresGauges
from lastbyte.adapters.rate_limits import RateLimits
from lastbyte.ports import (
    AnnotationStore,
    ArtifactStore,
    BudgetStore,
    CampaignStore,
    Catalogue,
    CatalogueEditor,
    CellQueue,
    CellReader,
    ResultStore,
    ScheduleStore,
    VantageStore,
)
from lastbyte.services.access import Doorkeeper
from lastbyte.services.acks import Acks
from lastbyte.services.campaigns import Campaigns
from lastbyte.services.cells import CellDetails
from lastbyte.services.client_comparison import ClientsComparisons
from lastbyte.services.crossovers import CrossoverFinder
from lastbyte.services.estimate import Estimates
from lastbyte.services.guard import Guard
from lastbyte.services.heatmap import Heatmaps
from lastbyte.services.pooled_heatmap import PooledHeatmaps
from lastbyte.services.regression import CampaignComparisons
from lastbyte.services.schedules import Schedules
from lastbyte.services.trends import TrendBuilder


@dataclass(frozen=True, slots=True)
class Container:
    """Everything that outlives a request."""

    catalogue: Catalogue
    editor: CatalogueEditor
    vantages: VantageStore
    campaign_store: CampaignStore
    results: ResultStore
    cells: CellReader
    budgets: BudgetStore
    annotations: AnnotationStore
    queue: CellQueue
    campaigns: Campaigns
    estimates: Estimates
    cell_details: CellDetails
    heatmaps: Heatmaps
    kept: KeptAnswers
    events: CampaignEvents
    idempotency: Keys
    rendered: RenderedCampaigns
    pooled_heatmaps: PooledHeatmaps
    campaign_comparisons: CampaignComparisons
    crossovers: CrossoverFinder
    trends: TrendBuilder
    trend_answers: AnswersInMemory
    clients_comparisons: ClientsComparisons
    schedule_store: ScheduleStore
    schedules: Schedules
    gauges: PostgresGauges
    check_schema: Callable[[], None]
    """Raises StoreUnavailable while migrations are missing."""
    guard: Guard
    doorkeeper: Doorkeeper
    rate_limits: RateLimits
    artifacts: ArtifactStore
    artifact_files: ArtifactFiles
    acks: Acks
    sync_catalogue: Callable[[], None]
    """Bring the catalogue's files into the store; raises StoreUnavailable."""
    close: Callable[[], None]


class CatalogueState(enum.Enum):
    """Whether endpoints, profiles and clients are in the store since this process began; before, there may be none."""

    PENDING = "are still being stored"
    FAILING = "could not be stored yet"
    STORED = "are stored"


async def container_of(request: Request) -> Container:
    """The container of the application that serves this request; async, since FastAPI runs others in a thread."""
    container: Container = request.app.state.container
    return container


async def catalogue_state_of(request: Request) -> CatalogueState:
    """Of the application that serves this request; async as above."""
    state: CatalogueState = request.app.state.catalogue
    return state


Wired = Annotated[Container, Depends(container_of)]

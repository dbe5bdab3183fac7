"""What the use cases need from the outside world, as Protocols; adapters implement them, entry points wire them."""

from __future__ import annotations

from lastbyte.ports.access import KeyStore
from lastbyte.ports.artifacts import (
    ArtifactFilter,
    ArtifactReader,
    ArtifactRecord,
    ArtifactSink,
    ArtifactStore,
    TraceFiles,
    WatchedTrial,
)
from lastbyte.ports.budgets import BudgetStore, HostBudget
from lastbyte.ports.campaigns import (
    CampaignFilter,
    CampaignPlan,
    CampaignRecord,
    CampaignStore,
    OpenCell,
    Progress,
    queue_of,
)
from lastbyte.ports.catalogue import Catalogue, SeenBuild
from lastbyte.ports.cells import CellPlan, CellProof, CellStore, Outcome
from lastbyte.ports.editing import CatalogueEditor, EndpointEntry
from lastbyte.ports.fetching import ClientRunner, Resolver, Target
from lastbyte.ports.host import HostMeter, HostReading
from lastbyte.ports.kept import KeptAnswerStore
from lastbyte.ports.paging import Slice
from lastbyte.ports.path import (
    CounterSnapshot,
    Path,
    PathFactory,
    PlaysTimelines,
    ProbesLinks,
    RttProbe,
    Seedable,
    Tap,
    Tappable,
)
from lastbyte.ports.queue import CellQueue
from lastbyte.ports.results import (
    CellEnd,
    CellFilter,
    CellReader,
    CellRecord,
    CellStatus,
    ResultStore,
    TrialFilter,
    TrialOrder,
    TrialRecord,
)
from lastbyte.ports.schedules import (
    ClaimedSchedule,
    Decide,
    ScheduleRecord,
    ScheduleRun,
    ScheduleStore,
    Settlement,
)
from lastbyte.ports.trends import Annotation, AnnotationStore, TrendCell, TrendFilter, TrendReader
from lastbyte.ports.vantages import InstalledClient, SeenVantage, SeenWorker, Vantage, VantageStore, Worker

__all__ = [
    "Annotation",
    "AnnotationStore",
    "ArtifactFilter",
    "ArtifactReader",
    "ArtifactRecord",
    "ArtifactSink",
    "ArtifactStore",
    "BudgetStore",
    "CampaignFilter",
    "CampaignPlan",
    "CampaignRecord",
    "CampaignStore",
    "Catalogue",
    "CatalogueEditor",
    "CellEnd",
    "CellFilter",
    "CellPlan",
    "CellProof",
    "CellQueue",
    "CellReader",
    "CellRecord",
    "CellStatus",
    "CellStore",
    "ClaimedSchedule",
    "ClientRunner",
    "CounterSnapshot",
    "Decide",
    "EndpointEntry",
    "HostBudget",
    "HostMeter",
    "HostReading",
    "InstalledClient",
    "KeptAnswerStore",
    "KeyStore",
    "OpenCell",
    "Outcome",
    "Path",
    "PathFactory",
    "PlaysTimelines",
    "ProbesLinks",
    "Progress",
    "Resolver",
    "ResultStore",
    "RttProbe",
    "ScheduleRecord",
    "ScheduleRun",
    "ScheduleStore",
    "Seedable",
    "SeenBuild",
    "SeenVantage",
    "SeenWorker",
    "Settlement",
    "Slice",
    "Tap",
    "Tappable",
    "Target",
    "TraceFiles",
    "TrendCell",
    "TrendFilter",
    "TrendReader",
    "TrialFilter",
    "TrialOrder",
    "TrialRecord",
    "Vantage",
    "VantageStore",
    "WatchedTrial",
    "Worker",
    "queue_of",
]

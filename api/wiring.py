"""Adapters to ports, for the API: the only module here that knows which database, broker and files there are."""

from __future__ import annotations

from functools import partial

from api.container import Container
from api.events import CampaignEvents
from api.kept import AnswersInMemory, KeptAnswers, code_digest
from api.rendered import RenderedCampaigns
from lastbyte.adapters.artifact_files import ArtifactFiles
from lastbyte.adapters.celery_queue import CeleryCellQueue
from lastbyte.adapters.client_descriptions import load_clients
from lastbyte.adapters.endpoints_file import load_endpoints
from lastbyte.adapters.postgres.artifact_store import PostgresArtifactStore
from lastbyte.adapters.postgres.budgets import PostgresBudgetStore
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.catalogue_editor import PostgresCatalogueEditor
from lastbyte.adapters.postgres.cell_reader import PostgresCellReader
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.adapters.postgres.gauges import PostgresGauges
from lastbyte.adapters.postgres.idempotency import PostgresIdempotency
from lastbyte.adapters.postgres.kept_answers import PostgresKeptAnswers
from lastbyte.adapters.postgres.key_store import PostgresKeyStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.adapters.postgres.schedule_store import PostgresScheduleStore
from lastbyte.adapters.postgres.trend_reader import PostgresAnnotationStore, PostgresTrendReader
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.adapters.rate_limits import RateLimits
from lastbyte.adapters.resolver import HostResolver
from lastbyte.domain.acks import AckTrace
from lastbyte.domain.addresses import AddressRule
from lastbyte.ports import TraceFiles
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
from lastbyte.settings import Settings
from migrations.state import check_schema
from netem.profiles import load_profiles
from testbed.catalogue import endpoints as testbed_endpoints

GUARD_TIMEOUT_S = 2.0
"""How long a request waits for the DNS before it leaves the check of an address to the worker."""


def wire(settings: Settings) -> Container:
    """Everything that the routes need. Opens no connection yet.

    Raises InvalidInput when a file of the catalogue is wrong: better no API than one that lacks what people expect.
    """
    endpoints = [*testbed_endpoints(), *load_endpoints(settings.endpoints_file)]
    profiles = list(load_profiles().values())
    clients = load_clients()
    rule = AddressRule.parse(settings.allowed_networks)
    engine = make_engine(settings.database_url, "lastbyte api")
    catalogue = PostgresCatalogue(engine)
    vantages = PostgresVantageStore(engine)
    campaign_store = PostgresCampaignStore(engine)
    results = PostgresResultStore(engine)
    cells = PostgresCellReader(engine)
    budgets = PostgresBudgetStore(engine)
    annotations = PostgresAnnotationStore(engine)
    queue = CeleryCellQueue(settings.broker_url)
    campaigns = Campaigns(campaign_store, catalogue, vantages, queue, settings.vantage, settings.trial_timeout_s)
    schedule_store = PostgresScheduleStore(engine)
    artifacts = PostgresArtifactStore(engine)
    artifact_files = ArtifactFiles(settings.artifacts_folder, settings.artifacts_max_bytes)

    return Container(
        catalogue=catalogue,
        editor=PostgresCatalogueEditor(engine),
        vantages=vantages,
        campaign_store=campaign_store,
        results=results,
        cells=cells,
        budgets=budgets,
        annotations=annotations,
        queue=queue,
        campaigns=campaigns,
        estimates=Estimates(campaign_store, budgets),
        cell_details=CellDetails(campaign_store, results, cells),
        heatmaps=Heatmaps(campaign_store, results),
        idempotency=PostgresIdempotency(engine),
        rendered=RenderedCampaigns(),
        events=CampaignEvents(campaign_store, cells),
        kept=KeptAnswers(PostgresKeptAnswers(engine), code_digest()),
        pooled_heatmaps=PooledHeatmaps(campaign_store, results),
        campaign_comparisons=CampaignComparisons(campaign_store, results),
        crossovers=CrossoverFinder(campaign_store, results),
        trends=TrendBuilder(PostgresTrendReader(engine), annotations),
        trend_answers=AnswersInMemory(),
        clients_comparisons=ClientsComparisons(campaign_store, results),
        schedule_store=schedule_store,
        schedules=Schedules(schedule_store, campaigns),
        gauges=PostgresGauges(engine),
        check_schema=partial(check_schema, engine),
        guard=Guard(catalogue, HostResolver(timeout_s=GUARD_TIMEOUT_S, rule=rule), rule),
        doorkeeper=Doorkeeper(PostgresKeyStore(engine), settings.api_key.get_secret_value()),
        rate_limits=RateLimits(settings.broker_url),
        artifacts=artifacts,
        artifact_files=artifact_files,
        acks=Acks(artifacts, artifact_files, _read_trace),
        sync_catalogue=lambda: catalogue.sync(endpoints, profiles, clients),
        close=engine.dispose,
    )


def _read_trace(files: TraceFiles) -> AckTrace:
    from lastbyte.adapters.traces.reading import read_trace  # noqa: PLC0415 - 0.3 s of imports, and few ask for it

    return read_trace(files)

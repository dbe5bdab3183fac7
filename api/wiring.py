"""Adapters to ports, for the API: the only module here that knows which database, broker and files there are."""

from __future__ import annotations

from api.container import Container
from lastbyte.adapters.celery_queue import CeleryCellQueue
from lastbyte.adapters.client_descriptions import load_clients
from lastbyte.adapters.endpoints_file import load_endpoints
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.services.campaigns import Campaigns
from lastbyte.services.client_comparison import ClientsComparisons
from lastbyte.services.heatmap import Heatmaps
from lastbyte.settings import Settings
from netem.profiles import load_profiles
from testbed.catalogue import endpoints as testbed_endpoints


def wire(settings: Settings) -> Container:
    """Everything that the routes need. Opens no connection yet.

    Raises InvalidInput when a file of the catalogue is wrong: better no API than one that lacks what people expect.
    """
    endpoints = [*testbed_endpoints(), *load_endpoints(settings.endpoints_file)]
    profiles = list(load_profiles().values())
    clients = load_clients()
    engine = make_engine(settings.database_url, "lastbyte api")
    catalogue = PostgresCatalogue(engine)
    vantages = PostgresVantageStore(engine)
    campaign_store = PostgresCampaignStore(engine)
    results = PostgresResultStore(engine)
    queue = CeleryCellQueue(settings.broker_url)

    return Container(
        catalogue=catalogue,
        vantages=vantages,
        campaign_store=campaign_store,
        results=results,
        queue=queue,
        campaigns=Campaigns(campaign_store, catalogue, vantages, queue, settings.vantage, settings.trial_timeout_s),
        heatmaps=Heatmaps(campaign_store, results),
        clients_comparisons=ClientsComparisons(campaign_store, results),
        sync_catalogue=lambda: catalogue.sync(endpoints, profiles, clients),
        close=engine.dispose,
    )

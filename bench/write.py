"""What writing costs: storing a trial, creating a campaign of 20,000 trials, importing by COPY."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from bench.many_trials import endpoints as made_up_endpoints
from bench.many_trials import profiles as made_up_profiles
from bench.serving import p95, serving_api
from bench.store import made_up_trial
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.adapters.postgres.import_store import PostgresImportStore
from lastbyte.domain.campaign import CampaignSpec
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.running import running_postgres, running_valkey
from lastbyte.embedded.valkey import Valkey
from lastbyte.ports import CampaignPlan
from lastbyte.services.imported import ImportedCell, ImportedResults
from lastbyte.wiring import clients
from migrations.run import upgrade

IMPORTED_CELLS, IMPORTED_ROUNDS = 500, 100
CREATED = 5


def run() -> dict[str, Any]:
    """On an embedded PostgreSQL with all its safety on."""
    with tempfile.TemporaryDirectory(prefix="lb-") as name:
        folder = Path(name)
        with (
            running_postgres(Postgres.under(folder), folder / "postgres.log") as server,
            running_valkey(Valkey.under(folder), folder / "valkey.log") as broker,
        ):
            server.ensure_database()
            upgrade(server.url())
            stored = _store(server.url())
            imported = _import(server.url())
            created = _create(server.url(), broker.url())
    return {
        "goals": [
            {"what": "storing a trial, p95 ms", "value": stored["p95_ms"], "at_most": 3},
            {"what": "creating a campaign of 20,000 trials, median ms", "value": created["median_ms"], "at_most": 500},
            {"what": "microseconds per imported trial", "value": 1e6 / imported["trials_per_s"], "at_most": 50},
        ],
        "store": stored,
        "import": imported,
        "create": created,
    }


def _store(url: str) -> dict[str, float]:
    engine = make_engine(url)
    arms = [client for client in clients() if client.program == "curl-quiche"]
    endpoints, profiles = made_up_endpoints()[:5], made_up_profiles()[:5]
    PostgresCatalogue(engine).sync(endpoints, profiles, arms)
    campaigns = PostgresCampaignStore(engine)
    spec = CampaignSpec(
        "bench",
        tuple(endpoint.id for endpoint in endpoints),
        tuple(profile.name for profile in profiles),
        tuple(arm.id for arm in arms),
        40,
        1,
    )
    campaigns.create(CampaignPlan(spec, tuple(endpoints), tuple(profiles), tuple(arms), 60.0))
    store = PostgresCellStore(engine)
    draw = random.Random(1)  # noqa: S311 - noise
    times_ms = []
    for cell in campaigns.dispatchable_cells(1000):
        store.claim(cell.cell_id, "bench", 600)
        for round_index in range(41):
            for position, arm in enumerate(arms):
                trial = made_up_trial(round_index, arm.id, position, draw)
                started = time.perf_counter()
                store.store_trial(cell.cell_id, "bench", trial)
                times_ms.append((time.perf_counter() - started) * 1000)
    engine.dispose()
    figures = {"median_ms": statistics.median(times_ms), "p95_ms": p95(times_ms)}
    print(f"store_trial: median {figures['median_ms']:.2f} ms, p95 {figures['p95_ms']:.2f} ms (n={len(times_ms)})")
    return figures


def _import(url: str) -> dict[str, float]:
    arms = [client for client in clients() if client.program == "curl-quiche"]
    draw = random.Random(2)  # noqa: S311 - noise
    pairs = [(endpoint, profile) for endpoint in made_up_endpoints() for profile in made_up_profiles()]
    cells = tuple(
        ImportedCell(
            endpoint,
            profile,
            tuple(
                made_up_trial(round_index, arm.id, position, draw)
                for round_index in range(IMPORTED_ROUNDS)
                for position, arm in enumerate(arms)
            ),
        )
        for endpoint, profile in pairs[:IMPORTED_CELLS]
    )
    results = ImportedResults("bench", "bench", tuple(arms), cells)
    trials = sum(len(cell.trials) for cell in cells)
    engine = make_engine(url)
    started = time.perf_counter()
    PostgresImportStore(engine).store(results, "imported", {"kind": "import", "at": datetime.now(UTC)})
    elapsed_s = time.perf_counter() - started
    engine.dispose()
    print(f"import: {trials:,} trials in {elapsed_s:.2f} s, {trials / elapsed_s:,.0f} trials/s")
    return {"trials_per_s": trials / elapsed_s, "trials": trials}


def _create(url: str, broker_url: str) -> dict[str, float]:
    with serving_api(url, broker_url) as api, httpx.Client(base_url=f"{api}/api/v1", timeout=60) as http:
        endpoints = [item["id"] for item in http.get("/endpoints", params={"limit": 100}).json()["items"]][:25]
        profiles = [item["name"] for item in http.get("/profiles", params={"limit": 100}).json()["items"]][:20]
        arms = ["curl-quiche-h2", "curl-quiche-h3"]
        rounds = -(-20_000 // (len(endpoints) * len(profiles) * 2)) - 1
        body = {"endpoints": endpoints, "profiles": profiles, "clients": arms, "rounds": rounds}
        times_ms = []
        for number in range(CREATED + 1):
            started = time.perf_counter()
            answer = http.post("/campaigns", json={**body, "name": f"bench {number}"})
            times_ms.append((time.perf_counter() - started) * 1000)
            if answer.status_code != httpx.codes.CREATED:
                raise RuntimeError(answer.text[:500])
        trials = answer.json()["trials_planned"]
    median_ms = statistics.median(times_ms[1:])
    print(f"POST /campaigns of {trials:,} trials: median {median_ms:.0f} ms (n={CREATED})")
    return {"median_ms": median_ms, "trials": trials}

"""What storing a trial costs, against the cheapest thing PostgreSQL can do: ``SELECT 1`` on the same connection."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.engine import make_engine, single_statement
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.campaign import CampaignSpec
from lastbyte.domain.trial import DirectionCounters, LinkProof, Observation, Timings, Trial
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.running import running_postgres
from lastbyte.ports import CampaignPlan
from lastbyte.services.heatmap import Heatmaps
from lastbyte.services.squares import forget
from lastbyte.stats.significance import wilcoxon_p
from lastbyte.wiring import clients, profiles
from migrations.run import upgrade
from testbed.catalogue import endpoints

ROUNDS = 40


def run() -> dict[str, Any]:
    """Milliseconds per call on an embedded PostgreSQL, and a heatmap of 27 cells x 40 rounds."""
    with tempfile.TemporaryDirectory(prefix="lb-") as name:
        folder = Path(name)
        with running_postgres(Postgres.under(folder), folder / "postgres.log") as server:
            server.ensure_database()
            return _on(server.url())


def _on(url: str) -> dict[str, Any]:
    upgrade(url)
    engine = make_engine(url)
    arms = [client for client in clients() if client.program == "curl-quiche"]
    chosen = [profile for profile in profiles().values() if profile.name in ("baseline", "loss-1", "delay-100")]
    PostgresCatalogue(engine).sync(endpoints(), chosen, arms)
    campaigns = PostgresCampaignStore(engine)
    spec = CampaignSpec(
        "bench",
        tuple(e.id for e in endpoints()),
        tuple(p.name for p in chosen),
        tuple(c.id for c in arms),
        ROUNDS,
        1,
    )
    ident = campaigns.create(CampaignPlan(spec, tuple(endpoints()), tuple(chosen), tuple(arms), 60.0))
    cells = campaigns.dispatchable_cells(1000)
    store = PostgresCellStore(engine)
    stored_ms = []
    draw = random.Random(1)  # noqa: S311 - noise, so that no two cells are alike
    for cell in cells:
        store.claim(cell.cell_id, "bench", 600)
        for round_index in range(ROUNDS + 1):
            for position, arm in enumerate(arms):
                trial = made_up_trial(round_index, arm.id, position, draw)
                stored_ms.append(_ms(lambda t=trial, c=cell.cell_id: store.store_trial(c, "bench", t)))  # type: ignore[misc]

    def ask() -> None:
        with single_statement(engine) as connection:
            connection.execute(text("SELECT 1"))

    asked_ms = [_ms(ask) for _ in range(1000)]
    wilcoxon_p([1.0] * 6, [1.1, 1.2, 1.3, 1.4, 1.5, 1.6])  # SciPy's import, which the API does as it starts
    first_ms, drawn_ms = [], []
    for _ in range(5):
        forget()
        heatmaps = Heatmaps(campaigns, PostgresResultStore(engine))  # which keeps what it has worked out
        first_ms.append(_ms(lambda h=heatmaps: h.of(ident)))
        drawn_ms.append(_ms(lambda h=heatmaps: h.of(ident)))
    engine.dispose()
    medians = map(statistics.median, (stored_ms, asked_ms, drawn_ms, first_ms))
    store_ms, ask_ms, heatmap_ms, uncached_ms = medians
    print(
        f"store_trial {store_ms:.2f} ms, SELECT 1 {ask_ms:.2f} ms, ratio {store_ms / ask_ms:.1f} (n={len(stored_ms)})"
    )
    print(
        f"heatmap of {len(cells)} cells x {ROUNDS} rounds: {uncached_ms:.0f} ms, {heatmap_ms:.0f} ms when asked again"
    )
    return {
        "store_trial_ms": store_ms,
        "select_1_ms": ask_ms,
        "heatmap_ms": heatmap_ms,
        "heatmap_uncached_ms": uncached_ms,
        "trials": len(stored_ms),
    }


def _ms(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def made_up_trial(round_index: int, client_id: str, position: int, draw: random.Random) -> Trial:
    counters = DirectionCounters(80, 110_000, 0, 0)
    handshake_s, wait_s, transfer_s = (base_s * draw.lognormvariate(0, 0.05) for base_s in (0.025, 0.011, 0.09))
    timings = Timings(handshake_s, handshake_s + wait_s, handshake_s + wait_s + transfer_s)
    observation = Observation(datetime.now(UTC), timings, None, 0, 200, "2", 100_000, "10.200.1.1", 0.13)
    return Trial(round_index, client_id, position, observation, LinkProof(counters, counters))

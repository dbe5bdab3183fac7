"""What reading costs at the API with 10,000,000 trials in 250,000 cells, beside the same with 100,000.

The database is made once by COPY (``bench/many_trials.py``), some 7 minutes and 12 GB, in the folder that
LASTBYTE_BENCH_DATA names, and kept there for the next run; without it, in a temporary one that is removed.
LASTBYTE_BENCH_CAMPAIGNS makes it smaller than its 1,000 campaigns of 10,000 trials.
"""

from __future__ import annotations

import os
import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from bench.many_trials import TRIALS, campaign_id, fill
from bench.serving import p95, serving_api, times_ms
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.running import running_postgres
from migrations.run import upgrade

LARGE, SMALL = 1000, 10
SAMPLE = 20
"""Campaigns that are looked at, drawn at random; of the small database all."""
REPEATS = 5

FILTERS = {
    "no filter": "",
    "one profile": "profile=bench-loss-3",
    "one client": "client=curl-quiche-h3",
    "one round": "round=7",
    "one endpoint and client": "endpoint=testbed-bench1-2MB&client=curl-quiche-h3",
    "failures of a kind": "outcome=timeout",
    "a kind that never was": "outcome=dns",
    "everything at once": "endpoint=testbed-bench4-5MB&profile=bench-loss-9&client=curl-quiche-h2&outcome=ok",
}


def run() -> dict[str, Any]:
    """Milliseconds at the API, p95."""
    kept = os.environ.get("LASTBYTE_BENCH_DATA")
    if kept:
        return _in(Path(kept))
    with tempfile.TemporaryDirectory(prefix="lb-") as name:
        return _in(Path(name))


def _in(folder: Path) -> dict[str, Any]:
    campaigns = int(os.environ.get("LASTBYTE_BENCH_CAMPAIGNS", str(LARGE)))
    found = {}
    with running_postgres(Postgres.under(folder), folder / "postgres.log") as server:
        for database, size in (("bench_small", SMALL), ("lastbyte", campaigns)):
            server.ensure_database(database)
            url = server.url(database)
            upgrade(url)
            engine = make_engine(url)
            added = fill(engine, size)
            if added:
                with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.exec_driver_sql("SET statement_timeout = 0")
                    connection.exec_driver_sql("VACUUM ANALYZE")
            engine.dispose()
            found[database] = _measure(url, size)
    large, small = found["lastbyte"], found["bench_small"]
    ratio = large["heatmap"] / small["heatmap"]
    print(f"heatmap, p95, {campaigns * TRIALS:,} against {SMALL * TRIALS:,} trials: ratio {ratio:.2f}")
    goals = [
        {"what": "heatmap p95 ms", "value": large["heatmap"], "at_most": 50},
        {"what": "heatmap against 100,000 trials", "value": ratio, "at_most": 1.5},
        {"what": "trends over a year p95 ms", "value": large["trends"], "at_most": 150},
        *({"what": f"trials, {name}, p95 ms", "value": large[name], "at_most": 100} for name in FILTERS),
    ]
    return {"goals": goals, "large": large, "small": small}


def _measure(url: str, size: int) -> dict[str, float]:
    draw = random.Random(1)  # noqa: S311 - which campaigns are looked at
    looked_at = [str(campaign_id(number)) for number in draw.sample(range(size), min(SAMPLE, size))]
    heatmaps = [f"/campaigns/{ident}/heatmap" for ident in looked_at]
    figures: dict[str, float] = {}
    with serving_api(url) as api, httpx.Client(base_url=f"{api}/api/v1", timeout=120) as http:
        figures["heatmap, worked out"] = p95(times_ms(lambda path: _get(http, path), heatmaps))
    with serving_api(url) as api, httpx.Client(base_url=f"{api}/api/v1", timeout=120) as http:
        _get(http, "/campaigns?limit=1")
        figures["heatmap, new process"] = p95(times_ms(lambda path: _get(http, path), heatmaps))
        again = times_ms(lambda path: _get(http, path), heatmaps * REPEATS)
        figures["heatmap"] = p95(again)
        for name, query in FILTERS.items():
            paths = [f"/campaigns/{ident}/trials?limit=100&{query}" for ident in looked_at]
            figures[name] = p95(times_ms(lambda path: _get(http, path), paths))
        since = (datetime.now(UTC) - timedelta(days=366)).strftime("%Y-%m-%dT%H:%M:%SZ")
        cells = [(f"testbed-bench{n % 5}-{n % 4 + 1}MB", f"bench-loss-{n % 10}") for n in range(SAMPLE)]
        trends = [f"/trends?endpoint={endpoint}&profile={profile}&measured_from={since}" for endpoint, profile in cells]
        figures["trends, worked out"] = p95(times_ms(lambda path: _get(http, path), trends))
        figures["trends"] = p95(times_ms(lambda path: _get(http, path), trends * REPEATS))
    for name, value in figures.items():
        print(f"{size * TRIALS:>12,} trials: {name:<24} p95 {value:8.1f} ms")
    return figures


def _get(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    if answer.status_code != httpx.codes.OK:
        raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:300]}")

"""What 1,000 vantages ask of one PostgreSQL: heartbeats, leases and made-up trials, by the real stores.

Nothing is fetched: the part of a vantage that its own machine does is left out, the part that all of them share is not.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import Engine, text

from bench.many_trials import endpoints, profiles
from bench.serving import p95
from bench.store import made_up_trial
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.domain.campaign import CampaignSpec
from lastbyte.domain.client import Client
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.running import running_postgres
from lastbyte.ports import CampaignPlan, InstalledClient, Vantage, Worker
from lastbyte.wiring import clients
from migrations.run import upgrade

VANTAGES = 1000
ROUNDS = 20
CELLS = 2
WRITERS = 8
"""Connections that write at a time; each stands for many vantages in turn, since one writes a trial every second."""
STORED_S = 20.0
LEASE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Costs:
    """Of PostgreSQL and the stores, on this machine."""

    trials_per_s: float
    trial_p95_ms: float
    trial_cpu_ms: float
    """CPU time of PostgreSQL's processes alone."""
    trial_bytes: float
    heartbeat_cpu_ms: float
    dispatch_ms: float
    """Of one look for cells that wait, with all vantages having some."""
    connection_kb: float
    """Memory of an idle connection's process that it shares with no other."""

    def shown(self) -> str:
        """For people."""
        return (
            f"{self.trials_per_s:,.0f} trials/s over {WRITERS} connections (p95 {self.trial_p95_ms:.1f} ms); of"
            f" PostgreSQL's CPU {self.trial_cpu_ms:.2f} ms per trial, {self.heartbeat_cpu_ms:.2f} ms per heartbeat;"
            f" {self.trial_bytes:,.0f} bytes per trial; dispatch over {VANTAGES:,} vantages {self.dispatch_ms:.0f} ms;"
            f" {self.connection_kb:,.0f} KB per connection"
        )


def costs(folder: Path) -> Costs:
    """On an embedded PostgreSQL with all its safety on, in ``folder``."""
    with running_postgres(Postgres.under(folder), folder / "postgres.log") as server:
        server.ensure_database()
        upgrade(server.url())
        engine = make_engine(server.url(), pool_size=WRITERS + 2)
        try:
            return _costs(engine, server)
        finally:
            engine.dispose()


def _costs(engine: Engine, server: Postgres) -> Costs:
    arms = [client for client in clients() if client.program == "curl-quiche"][:2]
    campaigns = PostgresCampaignStore(engine)
    _create(engine, campaigns, arms)
    looks_ms = [_ms(lambda: campaigns.dispatchable_cells(200)) for _ in range(5)]
    cells = [cell.cell_id for cell in campaigns.dispatchable_cells(CELLS)]
    cpu_s, beats = _cpu_s(server), _heartbeats(engine, arms)
    heartbeat_cpu_ms = (_cpu_s(server) - cpu_s) * 1000 / beats
    before, cpu_s = _trial_bytes(engine), _cpu_s(server)
    times_ms, elapsed_s = _store(engine, cells, arms)
    stored = len(times_ms)
    trial_cpu_ms = (_cpu_s(server) - cpu_s) * 1000 / stored
    return Costs(
        trials_per_s=stored / elapsed_s,
        trial_p95_ms=p95(times_ms),
        trial_cpu_ms=trial_cpu_ms,
        trial_bytes=(_trial_bytes(engine) - before) / stored,
        heartbeat_cpu_ms=heartbeat_cpu_ms,
        dispatch_ms=median(looks_ms),
        connection_kb=_connection_kb(engine),
    )


def _create(engine: Engine, campaigns: PostgresCampaignStore, arms: list[Client]) -> None:
    places, shapes = endpoints()[:1], profiles()[:CELLS]
    PostgresCatalogue(engine).sync(places, shapes, arms)
    names = tuple(shape.name for shape in shapes)
    for number in range(VANTAGES):
        spec = CampaignSpec(
            "bench", (places[0].id,), names, tuple(arm.id for arm in arms), ROUNDS, 1, vantage=_name(number)
        )
        campaigns.create(CampaignPlan(spec, tuple(places), tuple(shapes), tuple(arms), 60.0))


def _name(number: int) -> str:
    return f"bench-{number:04}"


def _heartbeats(engine: Engine, arms: list[Client]) -> int:
    vantages = PostgresVantageStore(engine)
    installed = tuple(InstalledClient(arm.id, "bench 1.0", "0" * 64) for arm in arms)
    for turn in range(2):  # the second time there is a row already, as there is for all but the first of each worker
        for number in range(VANTAGES):
            name = _name(number)
            worker = Worker(name, "1.0", name, turn, None)
            vantages.heartbeat(Vantage(name, "uml", name, "6.12", installed), worker)
    return 2 * VANTAGES


def _store(engine: Engine, cells: list[int], arms: list[Client]) -> tuple[list[float], float]:
    """Milliseconds of each trial, and how long all of them took. Claims and leases are in the time, not in the list."""
    ends = time.monotonic() + STORED_S
    taken = iter(cells)
    lock = threading.Lock()
    times_ms: list[float] = []

    def write(seed: int) -> None:
        store, draw = PostgresCellStore(engine), random.Random(seed)  # noqa: S311 - noise
        worker = f"bench {seed}"
        mine: list[float] = []
        while time.monotonic() < ends:
            with lock:
                cell = next(taken, None)
            if cell is None or store.claim(cell, worker, LEASE_S) is None:
                break
            for round_index in range(ROUNDS + 1):
                store.extend_lease(cell, worker, LEASE_S)
                for position, arm in enumerate(arms):
                    trial = made_up_trial(round_index, arm.id, position, draw)
                    mine.append(_ms(lambda t=trial, c=cell: store.store_trial(c, worker, t)))  # type: ignore[misc]
            store.finish(cell, worker)
        with lock:
            times_ms.extend(mine)

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(WRITERS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times_ms, time.monotonic() - started


def _ms(call: Any) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def _trial_bytes(engine: Engine) -> int:
    """Of all that grows with trials: their partitions, the rollups, and the indexes of both."""
    query = text("""
        SELECT sum(pg_total_relation_size(oid)) FROM pg_class
         WHERE relkind = 'r' AND (relname LIKE 'trials%' OR relname = 'cell_rollups')
    """)
    with engine.connect() as connection:
        return int(connection.execute(query).scalar_one())


def _cpu_s(server: Postgres) -> float:
    """Of the server and its living children; connections stay open in the pool, so none is lost."""
    postmaster = int((server.data_folder / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if postmaster in (int(fields[1]), int(stat.parent.name)):
            ticks += int(fields[11]) + int(fields[12])
    return ticks / 100  # USER_HZ of Linux


def _connection_kb(engine: Engine) -> float:
    with engine.connect() as connection:
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("Private_"))

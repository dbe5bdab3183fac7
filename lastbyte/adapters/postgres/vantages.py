"""Where workers are: ``lastbyte.ports.VantageStore`` on PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import VantageRow, WorkerRow
from lastbyte.ports import InstalledClient, SeenVantage, SeenWorker, Vantage, Worker

_INSTALLED = TypeAdapter(list[InstalledClient])
"""Passes over what a worker of a later version says more."""

_ALIVE_FOR = text("interval '30 seconds'")
_LISTED_FOR = text("interval '1 hour'")


class PostgresVantageStore:
    """``lastbyte.ports.VantageStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def heartbeat(self, vantage: Vantage, worker: Worker | None = None) -> None:
        """Say that the vantage is alive and what it has, and which of its workers says so."""
        statement = insert(VantageRow).values(
            name=vantage.name,
            box_kind=vantage.box_kind,
            hostname=vantage.hostname,
            kernel=vantage.kernel,
            capabilities={
                "clients": [asdict(client) for client in vantage.clients],
                "trouble": vantage.trouble,
            },
        )
        changed = {c: statement.excluded[c] for c in ("box_kind", "hostname", "kernel", "capabilities")}
        with transaction(self._engine) as connection:
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=[VantageRow.name], set_={**changed, "last_seen_at": func.clock_timestamp()}
                )
            )
            if worker is not None:
                _sign(connection, vantage.name, worker)

    def leave(self, worker_id: str) -> None:
        """Say that a worker ends in peace."""
        with transaction(self._engine) as connection:
            connection.execute(delete(WorkerRow).where(WorkerRow.id == worker_id))

    def vantages(self) -> list[SeenVantage]:
        """By name."""
        alive = (VantageRow.last_seen_at >= func.clock_timestamp() - _ALIVE_FOR).label("alive")
        with transaction(self._engine) as connection:
            workers = _workers(connection)
            return [
                SeenVantage(
                    vantage=Vantage(
                        name=row.name,
                        box_kind=row.box_kind,
                        hostname=row.hostname,
                        kernel=row.kernel,
                        clients=tuple(_INSTALLED.validate_python(row.capabilities.get("clients", []))),
                        trouble=row.capabilities.get("trouble", ""),
                    ),
                    last_seen_at=row.last_seen_at,
                    alive=row.alive,
                    workers=tuple(workers[row.name]),
                )
                for row in connection.execute(select(VantageRow.__table__, alive).order_by(VantageRow.name))
            ]


def _sign(connection: Connection, vantage: str, worker: Worker) -> None:
    statement = insert(WorkerRow).values(vantage=vantage, **asdict(worker))
    now = func.clock_timestamp()
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[WorkerRow.id],
            set_={"cell_id": worker.cell_id, "trouble": worker.trouble, "last_seen_at": now},
        )
    )
    gone = WorkerRow.last_seen_at < now - _LISTED_FOR
    connection.execute(delete(WorkerRow).where(WorkerRow.vantage == vantage, gone))


def _workers(connection: Connection) -> dict[str, list[SeenWorker]]:
    alive = (WorkerRow.last_seen_at >= func.clock_timestamp() - _ALIVE_FOR).label("alive")
    listed = WorkerRow.last_seen_at >= func.clock_timestamp() - _LISTED_FOR
    found: dict[str, list[SeenWorker]] = defaultdict(list)
    query = select(WorkerRow.__table__, alive).where(listed).order_by(WorkerRow.started_at, WorkerRow.id)
    for row in connection.execute(query):
        worker = Worker(row.id, row.version, row.hostname, row.pid, row.cell_id, row.trouble)
        found[row.vantage].append(SeenWorker(worker, row.started_at, row.last_seen_at, row.alive))
    return found

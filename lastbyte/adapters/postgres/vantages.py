"""Where workers are: ``lastbyte.ports.VantageStore`` on PostgreSQL."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Engine, func, select, text
from sqlalchemy.dialects.postgresql import insert

from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import VantageRow
from lastbyte.ports import InstalledClient, SeenVantage, Vantage

_ALIVE_FOR = text("interval '60 seconds'")


class PostgresVantageStore:
    """``lastbyte.ports.VantageStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def heartbeat(self, vantage: Vantage) -> None:
        """Say that the vantage is alive, and what it has."""
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

    def vantages(self) -> list[SeenVantage]:
        """By name."""
        alive = (VantageRow.last_seen_at >= func.clock_timestamp() - _ALIVE_FOR).label("alive")
        with transaction(self._engine) as connection:
            return [
                SeenVantage(
                    vantage=Vantage(
                        name=row.name,
                        box_kind=row.box_kind,
                        hostname=row.hostname,
                        kernel=row.kernel,
                        clients=tuple(InstalledClient(**client) for client in row.capabilities.get("clients", [])),
                        trouble=row.capabilities.get("trouble", ""),
                    ),
                    last_seen_at=row.last_seen_at,
                    alive=row.alive,
                )
                for row in connection.execute(select(VantageRow.__table__, alive).order_by(VantageRow.name))
            ]

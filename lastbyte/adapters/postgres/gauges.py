"""What monitoring asks of the database: the queue, the vantages and the pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Engine, text
from sqlalchemy.pool import QueuePool

from lastbyte.adapters.postgres.engine import single_statement

_WAITING = text("""
    SELECT cells.vantage, count(*) AS cells,
           coalesce(extract(epoch FROM clock_timestamp() - min(campaigns.created_at)), 0) AS oldest_s
      FROM cells JOIN campaigns ON campaigns.id = cells.campaign_id
     WHERE cells.state = 'pending' AND campaigns.state IN ('queued', 'running')
  GROUP BY cells.vantage
""")
_STATES = text("SELECT state, count(*) AS campaigns FROM campaigns GROUP BY state")


@dataclass(frozen=True, slots=True)
class Gauge:
    """One figure."""

    name: str
    help: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


class PostgresGauges:
    """Figures of now; raises StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def pool(self) -> Iterator[Gauge]:
        """Of this process's connections; asks nobody."""
        pool = self._engine.pool
        if isinstance(pool, QueuePool):
            yield Gauge("lastbyte_db_pool_size", "Connections kept.", pool.size())
            yield Gauge("lastbyte_db_pool_in_use", "Connections in use.", pool.checkedout())
            yield Gauge("lastbyte_db_pool_idle", "Connections that wait.", pool.checkedin())

    def work(self) -> Iterator[Gauge]:
        """Of what is left to do."""
        with single_statement(self._engine) as connection:
            for row in connection.execute(_WAITING):
                label = (("vantage", row.vantage),)
                yield Gauge("lastbyte_cells_waiting", "Cells that wait for a worker.", row.cells, label)
                age = "Age of the oldest campaign with a waiting cell."
                yield Gauge("lastbyte_queue_age_seconds", age, float(row.oldest_s), label)
            for row in connection.execute(_STATES):
                yield Gauge("lastbyte_campaigns", "Campaigns by state.", row.campaigns, (("state", row.state),))

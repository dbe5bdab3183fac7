"""What is left of today's courtesy budgets: ``lastbyte.ports.BudgetStore`` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.engine import transaction
from lastbyte.domain.courtesy import CourtesyBudget
from lastbyte.ports import HostBudget

_USED = text("""
    SELECT named.host, today.midnight AT TIME ZONE 'UTC' AS resets_at, hosts.last_at,
           CASE WHEN hosts.day = today.day THEN hosts.requests ELSE 0 END AS requests,
           CASE WHEN hosts.day = today.day THEN hosts.bytes ELSE 0 END AS bytes
      FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day,
                   ((clock_timestamp() AT TIME ZONE 'UTC')::date + 1)::timestamp AS midnight) AS today
           CROSS JOIN (SELECT unnest(CAST(:hosts AS text[])) AS host
                        UNION SELECT host FROM hosts WHERE CAST(:hosts AS text[]) IS NULL) AS named
           LEFT JOIN hosts ON hosts.host = named.host
  ORDER BY named.host
""")


class PostgresBudgetStore:
    """``lastbyte.ports.BudgetStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine, budget: CourtesyBudget | None = None) -> None:
        self._engine = engine
        self._budget = budget or CourtesyBudget()

    def budgets(self, hosts: Sequence[str] | None = None) -> list[HostBudget]:
        """Of these hosts, used or not; None: of all that were ever used. By name."""
        with transaction(self._engine) as connection:
            return [
                HostBudget(
                    row.host, self._budget, int(row.requests or 0), int(row.bytes or 0), row.resets_at, row.last_at
                )
                for row in connection.execute(_USED, {"hosts": None if hosts is None else list(hosts)})
            ]

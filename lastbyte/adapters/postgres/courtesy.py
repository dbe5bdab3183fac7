"""Courtesy towards hosts that are not ours, on PostgreSQL: one cell at a time, a pause between fetches, a daily budget.

A host is taken by the cell that is measured on it: its lease is the host's. Two claims at the same moment are put in a
row by an advisory lock of the host. Each fetch is counted before it starts, so that a worker that dies during one
leaves none uncounted; its bytes are counted by the statement that stores the trial.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from lastbyte.adapters.postgres import leases
from lastbyte.domain.courtesy import GRANTED, BudgetChange, CourtesyBudget, Permission

BUSY_FOR_S = 2.0
"""A cell whose host is taken is looked at again so much later, in seconds."""

_HOST = text("""
    SELECT host, requests_per_day, bytes_per_day, min_gap_s
      FROM cells LEFT JOIN endpoints ON endpoints.id = cells.endpoint_id
     WHERE cells.id = :cell_id
""")

_LOCK_HOST = text("SELECT pg_advisory_xact_lock(hashtextextended('lastbyte host ' || :host, 0))")

_TAKEN = text(f"""
    SELECT EXISTS (SELECT FROM cells
                    WHERE host = :host AND state = 'running' AND id <> :cell_id AND NOT {leases.OVER})
""")  # noqa: S608 - made of constants only

_USED_UP = text("""
    SELECT requests, bytes, (day + 1)::timestamp AT TIME ZONE 'UTC' AS tomorrow
      FROM hosts
     WHERE host = :host AND day = (clock_timestamp() AT TIME ZONE 'UTC')::date
       AND (requests >= :requests_per_day OR bytes >= :bytes_per_day)
""")

_POSTPONE = text(f"""
    UPDATE cells
       SET waiting_for = :reason,
           not_before = coalesce(CAST(:not_before AS timestamptz),
                                 clock_timestamp() + make_interval(secs => :wait_s))
     WHERE id = :cell_id AND (state = 'pending' OR (state = 'running' AND {leases.OVER}))
""")  # noqa: S608 - made of constants only

_HELD = text("""
    SELECT host, requests_per_day, bytes_per_day, min_gap_s
      FROM cells LEFT JOIN endpoints ON endpoints.id = cells.endpoint_id
     WHERE cells.id = :cell_id AND lease_owner = :worker AND state = 'running'
""")

_RESERVE = text("""
    INSERT INTO hosts AS used (host, day, requests, bytes)
    VALUES (:host, (clock_timestamp() AT TIME ZONE 'UTC')::date, 1, 0)
        ON CONFLICT (host) DO UPDATE
       SET requests = CASE WHEN used.day = excluded.day THEN used.requests + 1 ELSE 1 END,
           bytes = CASE WHEN used.day = excluded.day THEN used.bytes ELSE 0 END,
           day = excluded.day
     WHERE used.day <> excluded.day OR (used.requests < :requests_per_day AND used.bytes < :bytes_per_day)
 RETURNING least(coalesce(extract(epoch FROM used.last_at + make_interval(secs => :min_gap_s) - clock_timestamp()), 0),
                 :min_gap_s)
""")


def host_is_free(connection: Connection, cell_id: int, budget: CourtesyBudget) -> bool:
    """Whether the cell may be claimed; if not, it is put off and says what it waits for.

    The host stays locked until the transaction ends.
    """
    found = connection.execute(_HOST, {"cell_id": cell_id}).one_or_none()
    if found is None or found.host is None:
        return True
    host, budget = found.host, _budget_of(found, budget)
    connection.execute(_LOCK_HOST, {"host": host})
    wanted: dict[str, object] = {"cell_id": cell_id, "not_before": None, "wait_s": BUSY_FOR_S}
    if connection.execute(_TAKEN, {"host": host, "cell_id": cell_id}).scalar_one():
        connection.execute(_POSTPONE, {**wanted, "reason": f"Another cell is measured on {host} now."})
        return False
    spent = _spent(connection, host, budget)
    if spent is not None:
        connection.execute(_POSTPONE, {**wanted, "reason": spent.reason, "not_before": spent.not_before})
        return False
    return True


def reserve(connection: Connection, cell_id: int, worker: str, budget: CourtesyBudget) -> Permission:
    """Count one fetch of the cell's host, if the cell is still the worker's and the day's budget allows it."""
    held = connection.execute(_HELD, {"cell_id": cell_id, "worker": worker}).one_or_none()
    if held is None:
        return Permission(granted=False)
    if held.host is None:
        return GRANTED
    budget = _budget_of(held, budget)
    wait_s = connection.execute(
        _RESERVE,
        {
            "host": held.host,
            "requests_per_day": budget.requests_per_day,
            "bytes_per_day": budget.bytes_per_day,
            "min_gap_s": budget.min_gap_s,
        },
    ).scalar_one_or_none()
    if wait_s is not None:
        return Permission(granted=True, wait_s=max(0.0, float(wait_s)))
    return _spent(connection, held.host, budget) or Permission(granted=False)


def _budget_of(row: Row[Any], budget: CourtesyBudget) -> CourtesyBudget:
    """The endpoint's own, where it has one."""
    return BudgetChange(row.requests_per_day, row.bytes_per_day, row.min_gap_s).applied_to(budget)


def _spent(connection: Connection, host: str, budget: CourtesyBudget) -> Permission | None:
    limits = {"requests_per_day": budget.requests_per_day, "bytes_per_day": budget.bytes_per_day}
    row = connection.execute(_USED_UP, {"host": host, **limits}).one_or_none()
    if row is None:
        return None
    reason = (
        f"The day's budget for {host} is used up ({row.requests} of {budget.requests_per_day} requests, "
        f"{row.bytes / 1e9:.2f} of {budget.bytes_per_day / 1e9:g} GB); it goes on after midnight UTC."
    )
    return Permission(granted=False, reason=reason, not_before=row.tomorrow)

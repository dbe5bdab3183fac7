"""Cells that crash whoever measures them, on PostgreSQL: counted, and put in quarantine after the third time.

A crash is a lease that ran out or an unexpected error. The count starts again with each stored trial, so a machine that
reboots three times during a long cell quarantines nothing: a poisonous cell is one that gets no further.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from lastbyte.adapters.postgres import leases

MOST_CRASHES = 3

_TAKEN_OVER = text(f"""
    UPDATE cells
       SET crashes = crashes + 1,
           crash_reason = format('worker %s went away while measuring it, last heard of before %s',
                                 lease_owner, to_char(lease_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
     WHERE id = :cell_id AND state = 'running' AND lease_owner <> :worker AND {leases.OVER}
 RETURNING crashes
""")  # noqa: S608 - made of constants only

_FAILED = text("""
    UPDATE cells SET crashes = crashes + 1, crash_reason = :reason
     WHERE id = :cell_id AND state = 'pending'
 RETURNING crashes
""")

_QUARANTINE = text("""
    UPDATE cells
       SET state = 'quarantined', lease_owner = NULL, lease_until = NULL, waiting_for = NULL, not_before = NULL,
           finished_at = clock_timestamp(), version = version + 1,
           crash_reason = format('Given up after %s crashes with no trial stored in between; the last one: %s.',
                                 crashes, crash_reason)
     WHERE id = :cell_id
""")


def note_takeover(connection: Connection, cell_id: int, worker: str) -> bool:
    """Count the crash of the worker before, if there was one; True when the cell went into quarantine.

    To be called before a claim, with the cell's campaign locked.
    """
    crashes = connection.execute(_TAKEN_OVER, {"cell_id": cell_id, "worker": worker}).scalar_one_or_none()
    return _too_many(connection, cell_id, crashes)


def note_failure(connection: Connection, cell_id: int, reason: str) -> bool:
    """Count an unexpected error after which the cell was handed back; True when the cell went into quarantine."""
    crashes = connection.execute(_FAILED, {"cell_id": cell_id, "reason": reason}).scalar_one_or_none()
    return _too_many(connection, cell_id, crashes)


def _too_many(connection: Connection, cell_id: int, crashes: int | None) -> bool:
    if crashes is None or crashes < MOST_CRASHES:
        return False
    connection.execute(_QUARANTINE, {"cell_id": cell_id})
    return True

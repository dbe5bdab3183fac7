"""A cell store that outlives its database: while PostgreSQL is away, the trial at hand is kept and offered again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import structlog

from lastbyte.domain.courtesy import Permission
from lastbyte.domain.errors import StoreUnavailable
from lastbyte.domain.trial import Trial
from lastbyte.ports import CellPlan, CellProof, CellStore

Result = TypeVar("Result")

FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 5.0

log = structlog.get_logger()


class DurableCellStore:
    """Wraps a CellStore; each call is tried until it succeeds or ``give_up`` is set."""

    def __init__(self, store: CellStore, give_up: threading.Event) -> None:
        self._store = store
        self._give_up = give_up

    def claim(self, cell_id: int, worker: str, lease_s: float) -> CellPlan | None:
        """As CellStore.claim."""
        return self._persist(lambda: self._store.claim(cell_id, worker, lease_s))

    def extend_lease(self, cell_id: int, worker: str, lease_s: float) -> bool:
        """As CellStore.extend_lease; while the database is away the lease counts as kept."""
        try:
            return self._store.extend_lease(cell_id, worker, lease_s)
        except StoreUnavailable:
            return True

    def store_proof(self, cell_id: int, worker: str, proof: CellProof) -> None:
        """As CellStore.store_proof."""
        self._persist(lambda: self._store.store_proof(cell_id, worker, proof))

    def store_trial(self, cell_id: int, worker: str, trial: Trial) -> bool:
        """As CellStore.store_trial; storing twice is harmless, so an answer lost on the wire is asked for again."""
        return self._persist(lambda: self._store.store_trial(cell_id, worker, trial))

    def reserve_request(self, cell_id: int, worker: str) -> Permission:
        """As CellStore.reserve_request; an answer that is lost on the wire costs one request of the budget."""
        return self._persist(lambda: self._store.reserve_request(cell_id, worker))

    def finish(self, cell_id: int, worker: str, rounds_saved: int = 0) -> None:
        """As CellStore.finish."""
        self._persist(lambda: self._store.finish(cell_id, worker, rounds_saved))

    def release(self, cell_id: int, worker: str, reason: str = "", not_before: datetime | None = None) -> None:
        """As CellStore.release; tried once: an unreleased cell comes back when its lease ends."""
        try:
            self._store.release(cell_id, worker, reason, not_before)
        except StoreUnavailable:
            log.warning("cell not handed back, its lease will end by itself", cell_id=cell_id)

    def note_crash(self, cell_id: int, reason: str) -> None:
        """As CellStore.note_crash; tried once."""
        try:
            self._store.note_crash(cell_id, reason)
        except StoreUnavailable:
            log.warning("crash not counted", cell_id=cell_id)

    def _persist(self, call: Callable[[], Result]) -> Result:
        wait_s = FIRST_WAIT_S
        while True:
            try:
                return call()
            except StoreUnavailable as exc:
                if self._give_up.is_set():
                    raise
                log.warning("database away, trying again", wait_s=wait_s, reason=str(exc))
            self._give_up.wait(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

"""What keeps a worker's trials safe: a store that outlives its database, a lease that is renewed or lost."""

from __future__ import annotations

import threading
from datetime import datetime

import pytest

from lastbyte.domain.errors import StoreUnavailable
from lastbyte.domain.trial import FailureKind, Trial
from tests.fakes.measuring import FakeStore, failing, plan
from worker import durable_store
from worker.durable_store import DurableCellStore
from worker.lease import LeaseKeeper

TRIAL = Trial(1, "fake-h2", 0, failing(FailureKind.TIMEOUT))


class Outage(FakeStore):
    """A store whose database is away for the next calls."""

    def __init__(self, calls: int) -> None:
        super().__init__(plan())
        self.away_for = calls
        self.asked = 0

    def _reach(self) -> None:
        self.asked += 1
        if self.away_for > 0:
            self.away_for -= 1
            raise StoreUnavailable("the database is away")

    def store_trial(self, cell_id: int, worker: str, trial: Trial) -> bool:
        self._reach()
        return super().store_trial(cell_id, worker, trial)

    def extend_lease(self, cell_id: int, worker: str, lease_s: float) -> bool:
        self._reach()
        return super().extend_lease(cell_id, worker, lease_s)

    def release(self, cell_id: int, worker: str, reason: str = "", not_before: datetime | None = None) -> None:
        self._reach()
        super().release(cell_id, worker, reason, not_before)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_store, "FIRST_WAIT_S", 0.001)


def test_a_trial_is_kept_until_the_database_is_back() -> None:
    store = Outage(3)
    assert DurableCellStore(store, threading.Event()).store_trial(7, "w", TRIAL)
    assert store.asked == 4
    assert list(store.trials) == [(1, "fake-h2")]


def test_a_worker_that_is_told_to_stop_does_not_wait_for_the_database() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoreUnavailable):
        DurableCellStore(Outage(10**6), stop).store_trial(7, "w", TRIAL)


def test_a_lease_counts_as_kept_while_nobody_can_say_otherwise() -> None:
    assert DurableCellStore(Outage(1), threading.Event()).extend_lease(7, "w", 20)


def test_handing_back_is_tried_once_because_the_lease_ends_by_itself() -> None:
    store = Outage(5)
    DurableCellStore(store, threading.Event()).release(7, "w")
    assert store.asked == 1


def test_a_lost_lease_is_told_once_and_renewing_ends() -> None:
    answers = [True, True, False, False]
    lost: list[bool] = []
    done = threading.Event()

    def on_lost() -> None:
        lost.append(True)
        done.set()

    with LeaseKeeper(lambda: answers.pop(0), on_lost, every_s=0.001):
        assert done.wait(5)
    assert lost == [True]
    assert answers == [False]

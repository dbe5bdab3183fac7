"""What keeps a worker's trials safe: a store that outlives its database, a lease that is renewed or lost."""

from __future__ import annotations

import threading
from collections.abc import Collection
from datetime import datetime
from typing import cast

import pytest

from lastbyte.domain.errors import StoreUnavailable
from lastbyte.domain.trial import FailureKind, Trial
from lastbyte.ports import ArtifactStore
from tests.fakes.measuring import FakeStore, failing, plan
from worker import durable_store
from worker.durable_store import DurableCellStore
from worker.lease import LeaseKeeper
from worker.own_disk import OwnDisk

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


class Folder:
    """What a sweep was told to keep, each time."""

    def __init__(self) -> None:
        self.sweeps: list[set[str]] = []

    def sweep(self, named: Collection[str]) -> int:
        self.sweeps.append(set(named))
        return 1


class Rows:
    """A database that may be away."""

    away = False

    def locations(self) -> set[str]:
        if self.away:
            raise StoreUnavailable("the database is away")
        return {"ab/abc.gz"}


def test_a_workers_own_disk_is_tidied_once_an_hour_and_trouble_waits() -> None:
    now, folder, rows = [0.0], Folder(), Rows()
    disk = OwnDisk(cast("ArtifactStore", rows), folder, clock=lambda: now[0])
    assert [disk.tidy_if_due(), disk.tidy_if_due()] == [1, 0]
    rows.away, now[0] = True, 3600.0
    assert disk.tidy_if_due() == 0
    rows.away, now[0] = False, 7200.0
    assert disk.tidy_if_due() == 1
    assert folder.sweeps == [{"ab/abc.gz"}] * 2

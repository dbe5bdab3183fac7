"""Beat goes on when the clock is set back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from lastbyte.settings import Settings
from worker.celery_app import DISPATCH_EVERY_S, DISPATCH_TASK, SCHEDULES_TASK, create_celery
from worker.steady_beat import SteadyScheduler


class Told(SteadyScheduler):
    """Notes what it would send; no broker."""

    sent: list[str]

    def apply_async(self, entry: Any, **_: object) -> None:
        self.sent.append(entry.task)


@pytest.fixture
def beat() -> Iterator[Told]:
    app = create_celery(Settings(broker_url="memory://"))
    made = Told(app=app, lazy=True)
    made.sent = []
    made.setup_schedule()
    for _ in made.schedule:
        made.tick()
    yield made
    made.close()


def set_clock(beat: Told, by: timedelta) -> None:
    """As if the clock had been set by so much: all that beat remembers lies that far the other way."""
    for entry in beat.schedule.values():
        entry.last_run_at -= by
    beat._heap = [event._replace(time=event.time - by.total_seconds()) for event in beat._heap]


def test_all_is_sent_at_the_start(beat: Told) -> None:
    assert sorted(beat.sent) == sorted(entry.task for entry in beat.schedule.values())
    assert len(beat.sent) == 4


def test_a_clock_that_is_set_back_holds_nothing_up(beat: Told) -> None:
    beat.sent.clear()
    set_clock(beat, -timedelta(hours=1))
    assert beat.tick() <= DISPATCH_EVERY_S
    set_clock(beat, timedelta(seconds=DISPATCH_EVERY_S + 0.1))
    for _ in range(2):
        beat.tick()
    assert set(beat.sent) == {DISPATCH_TASK, SCHEDULES_TASK}


def test_tasks_are_sent_when_they_are_due_and_not_before(beat: Told) -> None:
    beat.sent.clear()
    beat.tick()
    assert beat.sent == []
    set_clock(beat, timedelta(seconds=DISPATCH_EVERY_S + 0.1))
    for _ in range(2):
        beat.tick()
    assert set(beat.sent) == {DISPATCH_TASK, SCHEDULES_TASK}

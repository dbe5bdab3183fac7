"""The dispatcher: lost messages are sent again, filled queues are left alone."""

from __future__ import annotations

from collections.abc import Sequence

from lastbyte.ports import OpenCell
from lastbyte.services.dispatch import dispatch_pending_cells


class Campaigns:
    def __init__(self, *cells: OpenCell) -> None:
        self.cells = list(cells)

    def dispatchable_cells(self, limit: int, campaign_id: str | None = None) -> list[OpenCell]:
        return self.cells[:limit]


class Queue:
    def __init__(self, **depths: int) -> None:
        self.depths = depths
        self.sent: list[int] = []

    def depth(self, vantage: str) -> int:
        return self.depths.get(vantage, 0)

    def enqueue(self, cells: Sequence[OpenCell]) -> None:
        self.sent += [cell.cell_id for cell in cells]


def test_cells_of_an_empty_queue_are_sent_and_of_a_filled_one_are_not() -> None:
    queue = Queue(oslo=3)
    cells = Campaigns(OpenCell(1, "local"), OpenCell(2, "oslo"), OpenCell(3, "local"))
    assert dispatch_pending_cells(cells, queue) == 2  # type: ignore[arg-type]
    assert queue.sent == [1, 3]


def test_nothing_left_to_do_sends_nothing() -> None:
    queue = Queue()
    assert dispatch_pending_cells(Campaigns(), queue) == 0  # type: ignore[arg-type]
    assert queue.sent == []

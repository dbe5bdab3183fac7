"""Bring cells that the database says are left to do to the workers, when the broker holds them no more."""

from __future__ import annotations

from lastbyte.ports import CampaignStore, CellQueue, OpenCell

BATCH = 200
"""Cells sent to one vantage at a time."""


def dispatch_pending_cells(campaigns: CampaignStore, queue: CellQueue) -> int:
    """Send up to BATCH cells to each vantage whose queue is empty; gives how many were sent.

    A vantage with a filled queue will come to its cells by itself. Where a message waits in a worker's hands (fetched,
    not begun), its cell is sent once more at most: then the queue holds it. A doubled message finds its cell taken.
    Raises StoreUnavailable and QueueUnavailable.
    """
    waiting: dict[str, list[OpenCell]] = {}
    for cell in campaigns.dispatchable_cells(BATCH):
        waiting.setdefault(cell.vantage, []).append(cell)
    idle = [cells for vantage, cells in waiting.items() if queue.depth(vantage) == 0]
    for cells in idle:
        queue.enqueue(cells)
    return sum(map(len, idle))

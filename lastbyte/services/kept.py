"""What was made of a cell once and still holds: kept by the cell and its version, the least used given up first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from lastbyte.ports import CellRecord

T = TypeVar("T")

MOST_CELLS = 10_000


class KeptByCell(Generic[T]):
    """Answers per cell for questions that are asked again and again; safe for many threads.

    A cell's version grows with everything that such an answer may depend on, so an answer for another version is no
    answer. A cell without a version (it is in no database) is never kept.
    """

    def __init__(self, most: int = MOST_CELLS) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[int, Hashable], tuple[CellRecord, T]] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self,
        cells: Sequence[CellRecord],
        question: Hashable,
        answer: Callable[[Sequence[CellRecord]], Mapping[int, T]],
    ) -> list[T]:
        """The answer to ``question`` for each cell; ``answer`` is asked once, for all cells for which none is kept."""
        with self._lock:
            found = {cell.cell_id: self._known(cell, question) for cell in cells}
        missing = [cell for cell in cells if found[cell.cell_id] is None]
        fresh = answer(missing) if missing else {}
        with self._lock:
            for cell in missing:
                if cell.version is not None:
                    self._kept[cell.cell_id, question] = (cell, fresh[cell.cell_id])
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        kept = {cell_id: entry[1] for cell_id, entry in found.items() if entry is not None}
        return [kept[cell.cell_id] if cell.cell_id in kept else fresh[cell.cell_id] for cell in cells]

    def forget(self) -> None:
        """Drop all of it, as after a restart."""
        with self._lock:
            self._kept.clear()

    def _known(self, cell: CellRecord, question: Hashable) -> tuple[CellRecord, T] | None:
        entry = self._kept.get((cell.cell_id, question))
        if entry is None or cell.version is None:
            return None
        before = entry[0]
        if (before.version, before.state) != (cell.version, cell.state):
            return None
        self._kept.move_to_end((cell.cell_id, question))
        return entry

"""Cells read before, so that a heatmap that is asked for again reads only what has changed since."""

from __future__ import annotations

import threading
from collections import OrderedDict
from uuid import UUID

from sqlalchemy import Connection, select

from lastbyte.adapters.postgres.models import CellRow
from lastbyte.adapters.postgres.result_rows import cell_record
from lastbyte.ports import CellRecord

MOST_CELLS = 10_000


class KeptCells:
    """Records of cells by id, the least used given up first; safe for many threads."""

    def __init__(self, most: int = MOST_CELLS) -> None:
        self._most = most
        self._records: OrderedDict[int, CellRecord] = OrderedDict()
        self._lock = threading.Lock()

    def of_campaign(self, connection: Connection, campaign_id: UUID) -> list[CellRecord]:
        """The cells of a campaign as they are now, in the order they were planned."""
        marks = connection.execute(
            select(CellRow.id, CellRow.version, CellRow.state)
            .where(CellRow.campaign_id == campaign_id)
            .order_by(CellRow.position, CellRow.id)
        ).all()
        with self._lock:
            found = {ident: self._records[ident] for ident, _, _ in marks if ident in self._records}
        changed = [
            ident
            for ident, version, state in marks
            if ident not in found or (found[ident].version, found[ident].state) != (version, state)
        ]
        if changed:
            rows = connection.execute(select(CellRow.__table__).where(CellRow.id.in_(changed)))
            fresh = {row.id: cell_record(row) for row in rows}
            found.update(fresh)
            self._keep(fresh)
        return [found[ident] for ident, _, _ in marks if ident in found]

    def _keep(self, fresh: dict[int, CellRecord]) -> None:
        with self._lock:
            for ident, record in fresh.items():
                self._records[ident] = record
                self._records.move_to_end(ident)
            while len(self._records) > self._most:
                self._records.popitem(last=False)

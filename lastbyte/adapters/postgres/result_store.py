"""What was measured: ``lastbyte.ports.ResultStore`` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from sqlalchemy import Engine, select

from lastbyte.adapters.postgres import codec, rollups, trial_pages
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.kept_cells import KeptCells
from lastbyte.adapters.postgres.models import CampaignArmRow
from lastbyte.adapters.postgres.result_rows import trial_record
from lastbyte.domain.client import Client
from lastbyte.ports import CellRecord, Outcome, Slice, TrialFilter, TrialOrder, TrialRecord

_STREAMED_ROWS = 1000


class PostgresResultStore:
    """``lastbyte.ports.ResultStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cells = KeptCells()

    def cells(self, campaign_id: str) -> list[CellRecord]:
        """In the order they were planned."""
        with transaction(self._engine) as connection:
            return self._cells.of_campaign(connection, UUID(campaign_id))

    def arms(self, campaign_id: str) -> list[Client]:
        """The clients of the campaign as frozen when it was planned, in order."""
        query = (
            select(CampaignArmRow.client)
            .where(CampaignArmRow.campaign_id == UUID(campaign_id))
            .order_by(CampaignArmRow.position)
        )
        with transaction(self._engine) as connection:
            return [codec.client_from_json(client) for client in connection.execute(query).scalars()]

    def outcomes(
        self, campaign_id: str, client_ids: Sequence[str], cell_ids: Sequence[int] | None = None
    ) -> list[Outcome]:
        """Trials of these arms in the counted rounds (1 and up), of some cells of the campaign or (None) all."""
        with transaction(self._engine) as connection:
            if cell_ids is None:
                cell_ids = rollups.cells_of(connection, UUID(campaign_id))
            found = rollups.of_cells(connection, cell_ids, client_ids)
        return [outcome for outcome in found if outcome.round_index >= 1]

    def trials(
        self,
        campaign_id: str,
        which: TrialFilter,
        limit: int,
        cursor: str | None,
        order: TrialOrder = "id",
        *,
        descending: bool = False,
    ) -> Slice[TrialRecord]:
        """Raises InvalidInput for a cursor that is none of this order."""
        ident = UUID(campaign_id)
        with transaction(self._engine) as connection:
            rows, following = trial_pages.page(connection, ident, which, limit, cursor, order, descending=descending)
            whole = cursor is None and following is None
            total = len(rows) if whole else trial_pages.count(connection, ident, which)
        return Slice(tuple(trial_record(row) for row in rows), total, following)

    def all_trials(self, campaign_id: str, which: TrialFilter | None = None) -> Iterator[TrialRecord]:
        """Every trial of the campaign (that fits), in the order they were stored.

        Read in pages by key, each a transaction of its own: memory stays the same however many there are, and a reader
        that is slow to take them holds no transaction open meanwhile.
        """
        cursor: str | None = None
        while True:
            with transaction(self._engine) as connection:
                rows, cursor = trial_pages.page(
                    connection, UUID(campaign_id), which or TrialFilter(), _STREAMED_ROWS, cursor, "id"
                )
            yield from (trial_record(row) for row in rows)
            if cursor is None:
                return

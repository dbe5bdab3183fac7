"""Cells one by one, with how far they are: ``lastbyte.ports.CellReader`` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Engine, Row, func, literal, select, tuple_

from lastbyte.adapters.postgres import paging, rollups
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import CellRow, ClientBuildRow, TrialRow
from lastbyte.adapters.postgres.result_rows import cell_record, trial_record, trial_rows
from lastbyte.domain.client import ClientBuild
from lastbyte.domain.errors import NotFound
from lastbyte.ports import CellEnd, CellFilter, CellStatus, Outcome, Slice, TrialRecord

MAX_ID = 2**63 - 1


class PostgresCellReader:
    """``lastbyte.ports.CellReader``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def page(self, campaign_id: str, which: CellFilter, limit: int, cursor: str | None) -> Slice[CellStatus]:
        """In the order they were planned; raises InvalidInput for a cursor that is none."""
        wanted = [CellRow.campaign_id == UUID(campaign_id), *_conditions(which)]
        query = select(CellRow.__table__).where(*wanted)
        if cursor is not None:
            query = query.where(tuple_(CellRow.position, CellRow.id) > tuple(paging.decode(cursor, int, int)))
        with transaction(self._engine) as connection:
            rows = connection.execute(query.order_by(CellRow.position, CellRow.id).limit(limit + 1)).all()
            total = connection.execute(select(func.count()).select_from(CellRow).where(*wanted)).scalar_one()
            items = tuple(_statuses(connection, rows[:limit]))
        last = rows[limit - 1] if len(rows) > limit else None
        return Slice(items, total, paging.encode(last.position, last.id) if last else None)

    def cell(self, cell_id: int) -> CellStatus:
        """Raises NotFound."""
        with transaction(self._engine) as connection:
            rows = connection.execute(select(CellRow.__table__).where(CellRow.id == min(cell_id, MAX_ID))).all()
            if not rows:
                raise NotFound("cell", str(cell_id))
            return _statuses(connection, rows)[0]

    def trials(self, cell_id: int) -> list[TrialRecord]:
        """Every trial of the cell that is kept, by round and place in it, the warm-up round first."""
        query = trial_rows().where(TrialRow.cell_id == cell_id).order_by(TrialRow.round_index, TrialRow.position)
        with transaction(self._engine) as connection:
            return [trial_record(row) for row in connection.execute(query)]

    def finished(self, campaign_id: str, after: CellEnd | None, limit: int) -> list[CellStatus]:
        """Cells that ended after this one, in the order in which they did; None: from the first.

        Who ends a cell holds its campaign's lock, so the times of one campaign's cells come in the order of commits.
        """
        query = select(CellRow.__table__).where(
            CellRow.campaign_id == UUID(campaign_id), CellRow.finished_at.is_not(None)
        )
        if after is not None:
            place = tuple_(CellRow.finished_at, CellRow.id)
            query = query.where(place > tuple_(literal(after.finished_at), literal(after.cell_id)))
        query = query.order_by(CellRow.finished_at, CellRow.id).limit(limit)
        with transaction(self._engine) as connection:
            return _statuses(connection, connection.execute(query).all())

    def last_finished(self, campaign_id: str) -> CellEnd | None:
        """The cell that ended last."""
        query = (
            select(CellRow.finished_at, CellRow.id)
            .where(CellRow.campaign_id == UUID(campaign_id), CellRow.finished_at.is_not(None))
            .order_by(CellRow.finished_at.desc(), CellRow.id.desc())
            .limit(1)
        )
        with transaction(self._engine) as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None or row.finished_at is None else CellEnd(row.finished_at, row.id)

    def outcomes(self, cell_id: int) -> list[Outcome]:
        """What comparisons need of its counted trials (rounds 1 and up)."""
        with transaction(self._engine) as connection:
            return [outcome for outcome in rollups.of_cells(connection, [cell_id]) if outcome.round_index >= 1]


def _conditions(which: CellFilter) -> list[ColumnElement[bool]]:
    wanted = (
        (CellRow.endpoint_id, which.endpoint_id),
        (CellRow.endpoint["provider"].astext, which.provider),
        (CellRow.profile_name, which.profile_name),
        (CellRow.state, which.state.value if which.state is not None else None),
    )
    return [column == value for column, value in wanted if value is not None]


def _statuses(connection: Connection, rows: Sequence[Row[Any]]) -> list[CellStatus]:
    ids = {ident for row in rows for ident in (row.build_ids or {}).values()}
    builds: dict[int, ClientBuild] = {}
    if ids:
        found = connection.execute(select(ClientBuildRow.__table__).where(ClientBuildRow.id.in_(ids)))
        builds = {row.id: ClientBuild(row.program, row.path, row.version_text, row.sha256) for row in found}
    return [
        CellStatus(
            record=cell_record(row),
            campaign_id=str(row.campaign_id),
            vantage=row.vantage,
            trials_planned=row.trials_planned,
            trials_done=row.trials_done,
            trials_failed=row.trials_failed,
            rounds_saved=row.rounds_saved,
            waiting_for=row.waiting_for,
            busy_s=row.busy_s,
            started_at=row.started_at,
            finished_at=row.finished_at,
            builds={
                client: builds[ident] for client, ident in sorted((row.build_ids or {}).items()) if ident in builds
            },
        )
        for row in rows
    ]

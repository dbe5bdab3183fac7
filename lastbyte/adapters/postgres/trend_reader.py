"""Results over time: ``lastbyte.ports.TrendReader`` and ``AnnotationStore`` on PostgreSQL, from rollups alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, delete, func, insert, select

from lastbyte.adapters.postgres import codec, rollups
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import AnnotationRow, CampaignRow, CellRow
from lastbyte.domain.errors import NotFound
from lastbyte.domain.profile import Profile
from lastbyte.ports import Annotation, CellProof, Outcome, TrendCell, TrendFilter


class PostgresTrendReader:
    """``lastbyte.ports.TrendReader``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def cells(self, which: TrendFilter, limit: int) -> list[TrendCell]:
        """Cells with trials, the latest ``limit`` of them, oldest first."""
        measured_at = func.coalesce(CellRow.started_at, CampaignRow.created_at).label("measured_at")
        columns: list[Any] = [
            CellRow.id,
            CellRow.version,
            CellRow.endpoint_id,
            CellRow.profile_name,
            CellRow.campaign_id,
            CampaignRow.name,
            CellRow.vantage,
            measured_at,
        ]
        query = (
            select(*columns)
            .join(CampaignRow, CampaignRow.id == CellRow.campaign_id)
            .where(CellRow.trials_done > 0, *_conditions(which, measured_at))
            .order_by(measured_at.desc(), CellRow.id.desc())
            .limit(limit)
        )
        with transaction(self._engine) as connection:
            rows = connection.execute(query).all()
        return [
            TrendCell(ident, version, endpoint, profile, str(campaign_id), *columns)
            for ident, version, endpoint, profile, campaign_id, *columns in reversed(rows)
        ]

    def links(self, cell_ids: Sequence[int]) -> Mapping[int, tuple[CellProof | None, Profile]]:
        """The proof (None: not probed) and the profile of these cells; of the proof, only the probes are there."""
        query = select(CellRow.id, CellRow.profile, CellRow.proof["rtt"].label("rtt")).where(CellRow.id.in_(cell_ids))
        with transaction(self._engine) as connection:
            rows = connection.execute(query).all()
        return {row.id: (_probes(row.rtt), codec.profile_from_json(row.profile)) for row in rows}

    def outcomes(self, cell_ids: Sequence[int], client_ids: Sequence[str] | None = None) -> list[Outcome]:
        """Counted trials (rounds 1 and up) of these arms (None: of all) in these cells, without phases and bodies."""
        with transaction(self._engine) as connection:
            found = rollups.totals_of_cells(connection, cell_ids, client_ids)
        return [outcome for outcome in found if outcome.round_index >= 1]


class PostgresAnnotationStore:
    """``lastbyte.ports.AnnotationStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def annotations(self, at_from: datetime | None = None, at_to: datetime | None = None) -> list[Annotation]:
        """Oldest first; ``at_to`` is exclusive."""
        query = select(AnnotationRow.__table__).order_by(AnnotationRow.at, AnnotationRow.id)
        if at_from is not None:
            query = query.where(AnnotationRow.at >= at_from)
        if at_to is not None:
            query = query.where(AnnotationRow.at < at_to)
        with transaction(self._engine) as connection:
            return [Annotation(*row) for row in connection.execute(query).all()]

    def add(self, at: datetime, text: str, endpoint_id: str | None) -> Annotation:
        """Store a note."""
        statement = insert(AnnotationRow).values(at=at, text=text, endpoint_id=endpoint_id)
        with transaction(self._engine) as connection:
            return Annotation(*connection.execute(statement.returning(*AnnotationRow.__table__.columns)).one())

    def remove(self, annotation_id: int) -> None:
        """Raises NotFound."""
        statement = delete(AnnotationRow).where(AnnotationRow.id == annotation_id).returning(AnnotationRow.id)
        with transaction(self._engine) as connection:
            if connection.execute(statement).one_or_none() is None:
                raise NotFound("annotation", str(annotation_id))


def _conditions(which: TrendFilter, measured_at: ColumnElement[datetime]) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [
        CellRow.endpoint_id.in_(which.endpoint_ids),
        CellRow.profile_name.in_(which.profile_names),
    ]
    if which.vantage is not None:
        found.append(CellRow.vantage == which.vantage)
    if which.labels:
        found.append(CampaignRow.labels.contains(list(which.labels)))
    if which.measured_from is not None:
        found.append(measured_at >= which.measured_from)
    if which.measured_to is not None:
        found.append(measured_at < which.measured_to)
    return found


def _probes(rtt: dict[str, Any] | None) -> CellProof | None:
    if rtt is None:
        return None
    empty = {"box_kind": "", "address": "", "resolution_s": 0.0, "commands": {}}
    return codec.cell_proof_from_json({**empty, "rtt": rtt})

"""What was measured: ``lastbyte.ports.ResultStore`` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, Row, Select, func, select

from lastbyte.adapters.postgres import codec, paging
from lastbyte.adapters.postgres.engine import transaction, translated
from lastbyte.adapters.postgres.models import CampaignArmRow, CellRow, ClientBuildRow, TrialRow
from lastbyte.domain.campaign import CellState
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.trial import Failure, FailureKind, Observation, Timings, Trial
from lastbyte.ports import CellRecord, Outcome, Slice, TrialFilter, TrialRecord

_STREAMED_ROWS = 1000


class PostgresResultStore:
    """``lastbyte.ports.ResultStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def cells(self, campaign_id: str) -> list[CellRecord]:
        """In the order they were planned."""
        query = (
            select(CellRow.id, CellRow.endpoint, CellRow.profile, CellRow.state, CellRow.proof)
            .where(CellRow.campaign_id == UUID(campaign_id))
            .order_by(CellRow.position, CellRow.id)
        )
        with transaction(self._engine) as connection:
            return [
                CellRecord(
                    cell_id=row.id,
                    endpoint=codec.endpoint_from_json(row.endpoint),
                    profile=codec.profile_from_json(row.profile),
                    state=CellState(row.state),
                    proof=codec.cell_proof_from_json(row.proof),
                )
                for row in connection.execute(query)
            ]

    def arms(self, campaign_id: str) -> list[Client]:
        """The clients of the campaign as frozen when it was planned, in order."""
        query = (
            select(CampaignArmRow.client)
            .where(CampaignArmRow.campaign_id == UUID(campaign_id))
            .order_by(CampaignArmRow.position)
        )
        with transaction(self._engine) as connection:
            return [codec.client_from_json(client) for client in connection.execute(query).scalars()]

    def outcomes(self, campaign_id: str, client_ids: Sequence[str]) -> list[Outcome]:
        """Trials of these arms in the counted rounds (1 and up)."""
        columns: list[Any] = [  # in the order of Outcome's fields
            TrialRow.cell_id,
            TrialRow.round_index,
            TrialRow.client_id,
            TrialRow.outcome,
            TrialRow.ttlb_s,
            func.coalesce(TrialRow.unproven_reason, ""),
            TrialRow.body_bytes,
            TrialRow.elapsed_s,
            TrialRow.handshake_s,
            TrialRow.ttfb_s,
        ]
        query = select(*columns).where(
            TrialRow.campaign_id == UUID(campaign_id),
            TrialRow.client_id.in_(client_ids),
            TrialRow.round_index >= 1,
        )
        with transaction(self._engine) as connection:
            return [Outcome(*row) for row in connection.execute(query).all()]

    def trials(self, campaign_id: str, which: TrialFilter, limit: int, cursor: str | None) -> Slice[TrialRecord]:
        """In the order they were stored; raises InvalidInput for a cursor that is none."""
        query = _filtered(_trials(campaign_id), which)
        if cursor is not None:
            query = query.where(TrialRow.id > paging.decode(cursor, int)[0])
        with transaction(self._engine) as connection:
            rows = connection.execute(query.order_by(TrialRow.id).limit(limit + 1)).all()
            total = connection.execute(_count(campaign_id, which)).scalar_one()
        items = tuple(_record(row) for row in rows[:limit])
        return Slice(items, int(total), paging.encode(items[-1].id) if len(rows) > limit else None)

    def all_trials(self, campaign_id: str) -> Iterator[TrialRecord]:
        """Every trial of the campaign, through a server-side cursor, in the order they were stored."""
        with translated(), self._engine.connect() as connection:
            stream = connection.execution_options(yield_per=_STREAMED_ROWS)
            for row in stream.execute(_trials(campaign_id).order_by(TrialRow.id)):
                yield _record(row)


def _trials(campaign_id: str) -> Select[Any]:
    return (
        select(
            TrialRow.__table__,
            CellRow.endpoint_id,
            CellRow.profile_name,
            ClientBuildRow.program.label("build_program"),
            ClientBuildRow.path.label("build_path"),
            ClientBuildRow.version_text.label("build_version_text"),
            ClientBuildRow.sha256.label("build_sha256"),
        )
        .join(CellRow, CellRow.id == TrialRow.cell_id)
        .outerjoin(ClientBuildRow, ClientBuildRow.id == TrialRow.client_build_id)
        .where(TrialRow.campaign_id == UUID(campaign_id))
    )


def _filtered(query: Select[Any], which: TrialFilter) -> Select[Any]:
    for column, wanted in (
        (CellRow.endpoint_id, which.endpoint_id),
        (CellRow.profile_name, which.profile_name),
        (TrialRow.client_id, which.client_id),
        (TrialRow.outcome, which.outcome),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    return query


def _count(campaign_id: str, which: TrialFilter) -> Select[Any]:
    if which == TrialFilter():  # the cells have counted already
        return select(func.coalesce(func.sum(CellRow.trials_done), 0)).where(CellRow.campaign_id == UUID(campaign_id))
    counted = select(func.count()).select_from(TrialRow).join(CellRow, CellRow.id == TrialRow.cell_id)
    return _filtered(counted.where(TrialRow.campaign_id == UUID(campaign_id)), which)


def _record(row: Row[Any]) -> TrialRecord:
    failed = row.outcome != "ok"
    observation = Observation(
        started_at=row.started_at,
        timings=None if failed else Timings(row.handshake_s, row.ttfb_s, row.ttlb_s),
        failure=Failure(FailureKind(row.outcome), row.failure_detail or "") if failed else None,
        exit_code=row.exit_code,
        http_status=row.http_status,
        http_version=row.http_version,
        body_bytes=row.body_bytes,
        remote_address=row.remote_address,
        elapsed_s=row.elapsed_s,
        headers=row.headers,
    )
    build = None
    if row.client_build_id is not None:
        build = ClientBuild(row.build_program, row.build_path, row.build_version_text, row.build_sha256)
    return TrialRecord(
        id=row.id,
        cell_id=row.cell_id,
        endpoint_id=row.endpoint_id,
        profile_name=row.profile_name,
        trial=Trial(
            row.round_index,
            row.client_id,
            row.position,
            observation,
            codec.link_proof_from_json(row.proof),
            row.unproven_reason or "",
        ),
        build=build,
    )

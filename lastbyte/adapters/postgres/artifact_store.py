"""Files that trials left: ``lastbyte.ports.ArtifactStore`` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, Row, Select, func, select, text, update

from lastbyte.adapters.postgres import codec, paging
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import ArtifactRow, CampaignArmRow, CampaignRow, CellRow, TrialRow
from lastbyte.domain.capture import Artifact, ArtifactKind
from lastbyte.domain.errors import NotFound
from lastbyte.ports import ArtifactFilter, ArtifactRecord, Slice, WatchedTrial

_STORE = text("""
    INSERT INTO artifacts (trial_id, kind, media_type, file_name, location, encoding, byte_size, raw_bytes, sha256,
                           dropped_reason)
    SELECT trials.id, :kind, :media_type, :file_name, :location, :encoding, :byte_size, :raw_bytes, :sha256,
           :dropped_reason
      FROM trials
     WHERE cell_id = :cell_id AND round_index = :round_index AND client_id = :client_id
       AND NOT EXISTS (SELECT FROM artifacts WHERE trial_id = trials.id AND file_name = :file_name)
""")

_KINDS = {kind.value: kind for kind in ArtifactKind}


def store_artifacts(
    connection: Connection, cell_id: int, round_index: int, client_id: str, artifacts: Sequence[Artifact]
) -> None:
    """Store the rows of a trial that was stored in this transaction; those that are there already stay."""
    for artifact in artifacts:
        connection.execute(
            _STORE,
            {
                "cell_id": cell_id,
                "round_index": round_index,
                "client_id": client_id,
                "kind": artifact.kind.value,
                "media_type": artifact.kind.media_type,
                "file_name": codec.storable(artifact.file_name),
                "location": artifact.location,
                "encoding": artifact.encoding,
                "byte_size": artifact.byte_size,
                "raw_bytes": artifact.raw_bytes,
                "sha256": artifact.sha256,
                "dropped_reason": codec.storable(artifact.dropped_reason),
            },
        )


class PostgresArtifactStore:
    """``lastbyte.ports.ArtifactStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, artifact_id: int) -> ArtifactRecord:
        """Raises NotFound."""
        with transaction(self._engine) as connection:
            row = connection.execute(_artifacts().where(ArtifactRow.id == artifact_id)).one_or_none()
        if row is None:
            raise NotFound("artifact", str(artifact_id))
        return _record(row)

    def watched_trials(self, cell_id: int) -> list[WatchedTrial]:
        """Trials of the capture rounds of a cell, by round and client, in the order of the campaign's clients."""
        query = _trials().where(TrialRow.cell_id == cell_id, TrialRow.round_index < 0)
        with transaction(self._engine) as connection:
            rows = connection.execute(query.order_by(TrialRow.round_index.desc(), CampaignArmRow.position)).all()
        return [_watched(row) for row in rows]

    def trial(self, trial_id: int) -> WatchedTrial:
        """Raises NotFound."""
        with transaction(self._engine) as connection:
            row = connection.execute(_trials().where(TrialRow.id == trial_id)).one_or_none()
        if row is None:
            raise NotFound("trial", str(trial_id))
        return _watched(row)

    def page(self, which: ArtifactFilter, limit: int, cursor: str | None) -> Slice[ArtifactRecord]:
        """In the order they were stored; raises InvalidInput for a cursor that is none."""
        query = _filtered(_artifacts(), which)
        if cursor is not None:
            query = query.where(ArtifactRow.id > paging.decode(cursor, int)[0])
        counted = select(func.count()).select_from(ArtifactRow).join(TrialRow, TrialRow.id == ArtifactRow.trial_id)
        with transaction(self._engine) as connection:
            rows = connection.execute(query.order_by(ArtifactRow.id).limit(limit + 1)).all()
            total = connection.execute(_filtered(counted, which)).scalar_one()
        items = tuple(_record(row) for row in rows[:limit])
        return Slice(items, int(total), paging.encode(items[-1].id) if len(rows) > limit else None)

    def expire(self, older_than_s: float, reason: str) -> int:
        """Drop the bytes of older ones, with the reason in their place; gives how many. Files go with a sweep.

        What came with an imported campaign stays: it is as old as its measurement, not as its import.
        """
        measured_here = (
            select(TrialRow.id)
            .join(CampaignRow, CampaignRow.id == TrialRow.campaign_id)
            .where(TrialRow.id == ArtifactRow.trial_id, CampaignRow.source.is_(None))
        )
        old = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, older_than_s)
        query = (
            update(ArtifactRow)
            .where(ArtifactRow.dropped_reason == "", ArtifactRow.created_at < old, measured_here.exists())
            .values(dropped_reason=reason, location="", byte_size=0, sha256="")
        )
        with transaction(self._engine) as connection:
            return connection.execute(query).rowcount

    def locations(self) -> set[str]:
        """Every location that some row names."""
        query = select(ArtifactRow.location).where(ArtifactRow.location != "").distinct()
        with transaction(self._engine) as connection:
            return set(connection.execute(query).scalars())


def _artifacts() -> Select[Any]:
    return (
        select(
            ArtifactRow.__table__,
            TrialRow.campaign_id,
            TrialRow.cell_id,
            TrialRow.client_id,
            TrialRow.round_index,
            CellRow.endpoint_id,
            CellRow.profile_name,
            CellRow.vantage,
        )
        .join(TrialRow, TrialRow.id == ArtifactRow.trial_id)
        .join(CellRow, CellRow.id == TrialRow.cell_id)
    )


def _trials() -> Select[Any]:
    same_arm = (CampaignArmRow.campaign_id == TrialRow.campaign_id) & (CampaignArmRow.client_id == TrialRow.client_id)
    return select(
        TrialRow.id,
        TrialRow.cell_id,
        TrialRow.campaign_id,
        TrialRow.client_id,
        CampaignArmRow.client["protocol"].astext.label("protocol"),
        TrialRow.round_index,
        TrialRow.outcome,
        TrialRow.ttlb_s,
        TrialRow.unproven_reason,
    ).join(CampaignArmRow, same_arm)


def _watched(row: Row[Any]) -> WatchedTrial:
    return WatchedTrial(
        row.id,
        row.cell_id,
        str(row.campaign_id),
        row.client_id,
        row.protocol,
        row.round_index,
        row.outcome,
        row.ttlb_s,
        row.unproven_reason or "",
    )


def _filtered(query: Select[Any], which: ArtifactFilter) -> Select[Any]:
    if which.campaign_id is not None:
        query = query.where(TrialRow.campaign_id == UUID(which.campaign_id))
    if which.cell_id is not None:
        query = query.where(TrialRow.cell_id == which.cell_id)
    if which.trial_id is not None:
        query = query.where(TrialRow.id == which.trial_id)
    return query


def _record(row: Row[Any]) -> ArtifactRecord:
    return ArtifactRecord(
        id=row.id,
        trial_id=row.trial_id,
        cell_id=row.cell_id,
        campaign_id=str(row.campaign_id),
        endpoint_id=row.endpoint_id,
        profile_name=row.profile_name,
        client_id=row.client_id,
        round_index=row.round_index,
        vantage=row.vantage,
        artifact=Artifact(
            _KINDS.get(row.kind, ArtifactKind.OTHER),
            row.file_name,
            row.location,
            row.encoding,
            row.byte_size,
            row.raw_bytes,
            row.sha256,
            row.dropped_reason,
        ),
        created_at=row.created_at,
    )

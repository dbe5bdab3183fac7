"""Campaigns and their progress: ``lastbyte.ports.CampaignStore`` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine, Row, Select, func, insert, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert as upsert

from lastbyte.adapters.postgres import codec, paging
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import CampaignArmRow, CampaignRow, CellRow, ClientRow, EndpointRow
from lastbyte.domain.campaign import AaArms, CampaignSpec, CampaignState, CellState
from lastbyte.domain.client import Client, is_aa
from lastbyte.domain.endpoint import Endpoint, Origin
from lastbyte.domain.errors import InvalidInput, NotFound
from lastbyte.ports import CampaignPlan, CampaignRecord, OpenCell, Progress, Slice

_OPEN_STATES = (CampaignState.QUEUED.value, CampaignState.RUNNING.value)

_NEW_ENDPOINT = upsert(EndpointRow).on_conflict_do_nothing()
"""For URLs that were asked for without being in the catalogue; those that are there stay as they are."""

_NEW_CLIENT = upsert(ClientRow).on_conflict_do_nothing()
"""For A/A arms, which no catalogue lists."""

_DISPATCHABLE = text("""
    SELECT waiting.id, waiting.vantage
      FROM (SELECT DISTINCT vantage FROM cells WHERE state IN ('pending', 'running')) AS open
           CROSS JOIN LATERAL (
               SELECT cells.id, cells.vantage
                 FROM cells JOIN campaigns ON campaigns.id = cells.campaign_id
                WHERE cells.vantage = open.vantage
                  AND campaigns.state IN ('queued', 'running')
                  AND cells.state IN ('pending', 'running')
                  AND (cells.not_before IS NULL OR cells.not_before <= clock_timestamp())
                  AND (cells.state = 'pending' OR cells.lease_until < clock_timestamp())
                  AND (CAST(:campaign_id AS uuid) IS NULL OR cells.campaign_id = :campaign_id)
             ORDER BY cells.id
                LIMIT :limit) AS waiting
  ORDER BY waiting.id
""")


class PostgresCampaignStore:
    """``lastbyte.ports.CampaignStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def create(self, plan: CampaignPlan) -> str:
        """Store the campaign with all its cells in one transaction; gives its id."""
        campaign_id = uuid4()
        spec = plan.spec
        with transaction(self._engine) as connection:
            connection.execute(
                insert(CampaignRow),
                {
                    "id": campaign_id,
                    "name": spec.name,
                    "endpoint_ids": list(spec.endpoint_ids),
                    "profile_names": list(spec.profile_names),
                    "rounds": spec.rounds,
                    "seed": spec.seed,
                    "vantage": spec.vantage,
                    "timeout_s": plan.timeout_s,
                    "aa": spec.aa.value,
                    "max_rounds": spec.max_rounds,
                    "target_width_pct": spec.target_width_pct,
                    "equivalence_pct": spec.equivalence_pct,
                },
            )
            connection.execute(_NEW_ENDPOINT, [_unlisted(endpoint) for endpoint in plan.endpoints])
            again = [_unlisted_client(client) for client in plan.clients if is_aa(client.id)]
            if again:
                connection.execute(_NEW_CLIENT, again)
            connection.execute(insert(CampaignArmRow), _arms_of(campaign_id, plan))
            connection.execute(insert(CellRow), _cells_of(campaign_id, plan))
        return str(campaign_id)

    def get(self, campaign_id: str) -> CampaignRecord:
        """Raises NotFound."""
        with transaction(self._engine) as connection:
            rows = connection.execute(_campaigns().where(CampaignRow.id == _uuid(campaign_id))).all()
            if not rows:
                raise NotFound("campaign", campaign_id)
            return _records(connection, rows)[0]

    def page(self, state: CampaignState | None, limit: int, cursor: str | None) -> Slice[CampaignRecord]:
        """Newest first; raises InvalidInput for a cursor that is none."""
        query = _campaigns()
        count = select(func.count()).select_from(CampaignRow)
        if state is not None:
            query = query.where(CampaignRow.state == state.value)
            count = count.where(CampaignRow.state == state.value)
        if cursor is not None:
            query = query.where(tuple_(CampaignRow.created_at, CampaignRow.id) < _position(cursor))
        query = query.order_by(CampaignRow.created_at.desc(), CampaignRow.id.desc()).limit(limit + 1)
        with transaction(self._engine) as connection:
            rows = connection.execute(query).all()
            total = connection.execute(count).scalar_one()
            items = tuple(_records(connection, rows[:limit]))
        more = len(rows) > limit
        last = rows[limit - 1] if more else None
        return Slice(items, total, paging.encode(last.created_at.isoformat(), str(last.id)) if last else None)

    def cancel(self, campaign_id: str) -> bool:
        """Stop it and its open cells; False when it was over already. Raises NotFound."""
        ident = _uuid(campaign_id)
        with transaction(self._engine) as connection:
            stopped = connection.execute(
                update(CampaignRow)
                .where(CampaignRow.id == ident, CampaignRow.state.in_(_OPEN_STATES))
                .values(state=CampaignState.CANCELLED.value, finished_at=func.clock_timestamp())
                .returning(CampaignRow.id)
            ).one_or_none()
            if stopped is None:
                known = connection.execute(select(CampaignRow.id).where(CampaignRow.id == ident)).one_or_none()
                if known is None:
                    raise NotFound("campaign", campaign_id)
                return False
            connection.execute(
                update(CellRow)
                .where(CellRow.campaign_id == ident, CellRow.state != CellState.DONE.value)
                .values(
                    state=CellState.CANCELLED.value,
                    lease_owner=None,
                    lease_until=None,
                    finished_at=func.clock_timestamp(),
                )
            )
        return True

    def dispatchable_cells(self, limit: int, campaign_id: str | None = None) -> list[OpenCell]:
        """Cells that nobody measures: pending, or held by a worker whose lease ran out.

        At most ``limit`` of each vantage, so that one with no workers does not hide the others' cells.
        """
        parameters = {"limit": limit, "campaign_id": _uuid(campaign_id) if campaign_id else None}
        with transaction(self._engine) as connection:
            return [OpenCell(row.id, row.vantage) for row in connection.execute(_DISPATCHABLE, parameters)]


def _uuid(campaign_id: str) -> UUID:
    try:
        return UUID(campaign_id)
    except ValueError as exc:
        raise NotFound("campaign", campaign_id) from exc


def _position(cursor: str) -> tuple[datetime, UUID]:
    created_at, ident = paging.decode(cursor, str, str)
    try:
        return datetime.fromisoformat(str(created_at)), UUID(str(ident))
    except ValueError as exc:
        raise InvalidInput("cursor", "is not one of ours.", "Use the value of next unchanged.") from exc


def _unlisted(endpoint: Endpoint) -> dict[str, Any]:
    return {**codec.endpoint_to_json(endpoint), "position": 0, "active": False}


def _unlisted_client(client: Client) -> dict[str, Any]:
    return {
        "id": client.id,
        "program": client.program,
        "protocol": client.protocol.value,
        "spec": codec.client_to_json(client),
        "position": 0,
        "active": False,
    }


def _arms_of(campaign_id: UUID, plan: CampaignPlan) -> list[dict[str, Any]]:
    return [
        {
            "campaign_id": campaign_id,
            "client_id": client.id,
            "position": position,
            "client": codec.client_to_json(client),
        }
        for position, client in enumerate(plan.clients)
    ]


def _cells_of(campaign_id: UUID, plan: CampaignPlan) -> list[dict[str, Any]]:
    pairs = [(endpoint, profile) for endpoint in plan.endpoints for profile in plan.profiles]
    return [
        {
            "campaign_id": campaign_id,
            "endpoint_id": endpoint.id,
            "profile_name": profile.name,
            "vantage": plan.spec.vantage,
            "position": position,
            "endpoint": codec.endpoint_to_json(endpoint),
            "profile": codec.profile_to_json(profile),
            "host": endpoint.host if endpoint.origin is Origin.PRODUCTION else None,
            "trials_planned": len(plan.clients) * (plan.spec.most_rounds + 1),
        }
        for position, (endpoint, profile) in enumerate(pairs)
    ]


def _campaigns() -> Select[*tuple[Any, ...]]:
    return select(
        CampaignRow.id,
        CampaignRow.name,
        CampaignRow.state,
        CampaignRow.endpoint_ids,
        CampaignRow.profile_names,
        CampaignRow.rounds,
        CampaignRow.aa,
        CampaignRow.max_rounds,
        CampaignRow.target_width_pct,
        CampaignRow.equivalence_pct,
        CampaignRow.seed,
        CampaignRow.vantage,
        CampaignRow.created_at,
        CampaignRow.started_at,
        CampaignRow.finished_at,
        CampaignRow.source,
    )


def _records(connection: Connection, rows: Sequence[Row[Any]]) -> list[CampaignRecord]:
    idents = [row.id for row in rows]
    arms: dict[UUID, list[str]] = {ident: [] for ident in idents}
    for arm in connection.execute(
        select(CampaignArmRow.campaign_id, CampaignArmRow.client_id)
        .where(CampaignArmRow.campaign_id.in_(idents))
        .order_by(CampaignArmRow.position)
    ):
        arms[arm.campaign_id].append(arm.client_id)
    living = (CellRow.state == CellState.RUNNING.value) & (CellRow.lease_until >= func.clock_timestamp())
    waiting = (CellRow.state == CellState.PENDING.value) & (CellRow.not_before > func.clock_timestamp())
    progress = {
        row.campaign_id: Progress(
            cells_planned=row.planned,
            cells_done=row.done,
            trials_planned=row.trials_planned,
            trials_done=row.trials_done,
            trials_failed=row.trials_failed,
            busy_s=row.busy_s,
            cells_running=row.running,
            rounds_saved=row.rounds_saved,
            trials_saved=row.trials_saved,
            waiting_for=tuple(row.waiting_for or ()),
        )
        for row in connection.execute(
            select(
                CellRow.campaign_id,
                func.count().label("planned"),
                func.count().filter(CellRow.state == CellState.DONE.value).label("done"),
                func.count().filter(living).label("running"),
                func.sum(CellRow.trials_planned).label("trials_planned"),
                func.sum(CellRow.trials_done).label("trials_done"),
                func.sum(CellRow.trials_failed).label("trials_failed"),
                func.sum(CellRow.busy_s).label("busy_s"),
                func.sum(CellRow.rounds_saved).label("rounds_saved"),
                func.sum(CellRow.trials_saved).label("trials_saved"),
                func.array_agg(CellRow.waiting_for.distinct()).filter(waiting).label("waiting_for"),
            )
            .where(CellRow.campaign_id.in_(idents))
            .group_by(CellRow.campaign_id)
        )
    }
    return [_record(row, tuple(arms[row.id]), progress[row.id]) for row in rows]


def _record(row: Row[Any], client_ids: tuple[str, ...], progress: Progress) -> CampaignRecord:
    return CampaignRecord(
        id=str(row.id),
        spec=CampaignSpec(
            name=row.name,
            endpoint_ids=tuple(row.endpoint_ids),
            profile_names=tuple(row.profile_names),
            client_ids=client_ids,
            rounds=row.rounds,
            seed=row.seed,
            vantage=row.vantage,
            aa=AaArms(row.aa),
            max_rounds=row.max_rounds,
            target_width_pct=row.target_width_pct,
            equivalence_pct=row.equivalence_pct,
        ),
        state=CampaignState(row.state),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        progress=progress,
        source=row.source,
    )

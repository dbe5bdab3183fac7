"""Campaigns and their progress: ``lastbyte.ports.CampaignStore`` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine, func, insert, select, text
from sqlalchemy.dialects.postgresql import insert as upsert

from lastbyte.adapters.postgres import campaign_actions, codec, leases, paging
from lastbyte.adapters.postgres.campaign_actions import campaign_uuid
from lastbyte.adapters.postgres.campaign_records import CampaignReader
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import CampaignArmRow, CampaignRow, CellRow, ClientRow, EndpointRow
from lastbyte.domain.campaign import CellState, Priority
from lastbyte.domain.client import Client, is_aa
from lastbyte.domain.endpoint import Endpoint, Origin
from lastbyte.domain.errors import InvalidInput, NotFound
from lastbyte.ports import CampaignFilter, CampaignPlan, CampaignRecord, OpenCell, Slice

_NEW_ENDPOINT = upsert(EndpointRow).on_conflict_do_nothing()
"""For URLs that were asked for without being in the catalogue; those that are there stay as they are."""

_NEW_CLIENT = upsert(ClientRow).on_conflict_do_nothing()
"""For A/A arms, which no catalogue lists."""

_DISPATCHABLE = text(f"""
    SELECT waiting.id, waiting.vantage, wanted.priority
      FROM (SELECT DISTINCT vantage FROM cells WHERE state IN ('pending', 'running')) AS open
           CROSS JOIN (VALUES ('high', 0), ('normal', 1), ('low', 2)) AS wanted (priority, place)
           CROSS JOIN LATERAL (
               SELECT cells.id, cells.vantage
                 FROM cells JOIN campaigns ON campaigns.id = cells.campaign_id
                WHERE cells.vantage = open.vantage
                  AND campaigns.state IN ('queued', 'running')
                  AND campaigns.priority = wanted.priority
                  AND cells.state IN ('pending', 'running')
                  AND (cells.not_before IS NULL OR cells.not_before <= clock_timestamp())
                  AND (cells.state = 'pending' OR {leases.OVER})
                  AND (CAST(:campaign_id AS uuid) IS NULL OR cells.campaign_id = :campaign_id)
             ORDER BY cells.id
                LIMIT :limit) AS waiting
     WHERE EXISTS (SELECT FROM campaigns WHERE state IN ('queued', 'running') AND priority = wanted.priority)
  ORDER BY wanted.place, waiting.id
""")  # noqa: S608 - made of constants only


class PostgresCampaignStore:
    """``lastbyte.ports.CampaignStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reader = CampaignReader(engine)

    def create(self, plan: CampaignPlan) -> str:
        """Store the campaign with all its cells in one transaction; gives its id."""
        with transaction(self._engine) as connection:
            return str(insert_campaign(connection, plan))

    def get(self, campaign_id: str) -> CampaignRecord:
        """Raises NotFound."""
        found = self._reader.get(campaign_uuid(campaign_id))
        if found is None:
            raise NotFound("campaign", campaign_id)
        return found

    def page(self, which: CampaignFilter, limit: int, cursor: str | None) -> Slice[CampaignRecord]:
        """Newest first; raises InvalidInput for a cursor that is none."""
        after = _position(cursor) if cursor is not None else None
        items, total, last = self._reader.page(which, limit, after)
        return Slice(tuple(items), total, paging.encode(last[0].isoformat(), str(last[1])) if last else None)

    def cancel(self, campaign_id: str) -> bool:
        """Stop it and its open cells; False when it was over already. Raises NotFound."""
        with transaction(self._engine) as connection:
            return campaign_actions.cancel(connection, campaign_uuid(campaign_id))

    def pause(self, campaign_id: str) -> bool:
        """Take its open cells from the workers; False when it is over or paused already. Raises NotFound."""
        with transaction(self._engine) as connection:
            return campaign_actions.pause(connection, campaign_uuid(campaign_id))

    def resume(self, campaign_id: str) -> bool:
        """Let it go on; False when it is not paused. Raises NotFound."""
        with transaction(self._engine) as connection:
            return campaign_actions.resume(connection, campaign_uuid(campaign_id))

    def edit(self, campaign_id: str, name: str | None, labels: Sequence[str] | None) -> None:
        """Change what is not None. Raises NotFound."""
        with transaction(self._engine) as connection:
            campaign_actions.edit(connection, campaign_uuid(campaign_id), name, labels)

    def delete(self, campaign_id: str) -> bool:
        """Remove it with all that it measured; False unless it is over. Raises NotFound."""
        with transaction(self._engine) as connection:
            return campaign_actions.delete(connection, campaign_uuid(campaign_id))

    def seconds_per_trial(
        self, endpoint_ids: Sequence[str], profile_names: Sequence[str]
    ) -> dict[tuple[str, str], float]:
        """Mean time that a worker spent per trial in finished cells, by (endpoint id, profile name)."""
        query = (
            select(CellRow.endpoint_id, CellRow.profile_name, func.sum(CellRow.busy_s) / func.sum(CellRow.trials_done))
            .where(
                CellRow.endpoint_id.in_(endpoint_ids),
                CellRow.profile_name.in_(profile_names),
                CellRow.state == CellState.DONE.value,
                CellRow.trials_done > 0,
                CellRow.busy_s > 0,
            )
            .group_by(CellRow.endpoint_id, CellRow.profile_name)
        )
        with transaction(self._engine) as connection:
            return {(row[0], row[1]): float(row[2]) for row in connection.execute(query)}

    def dispatchable_cells(self, limit: int, campaign_id: str | None = None) -> list[OpenCell]:
        """Cells that nobody measures: pending, or held by a worker whose lease ran out.

        At most ``limit`` of each vantage and priority, so that one with no workers does not hide the others' cells.
        """
        parameters = {"limit": limit, "campaign_id": campaign_uuid(campaign_id) if campaign_id else None}
        with transaction(self._engine) as connection:
            return [
                OpenCell(row.id, row.vantage, Priority(row.priority))
                for row in connection.execute(_DISPATCHABLE, parameters)
            ]


def insert_campaign(connection: Connection, plan: CampaignPlan) -> UUID:
    """The campaign with all its cells, in the caller's transaction; gives its id."""
    campaign_id = uuid4()
    spec = plan.spec
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
            "capture": spec.capture.value,
            "tls_groups": list(spec.tls_groups),
            "priority": spec.priority.value,
            "max_rounds": spec.max_rounds,
            "target_width_pct": spec.target_width_pct,
            "equivalence_pct": spec.equivalence_pct,
            "labels": list(plan.labels),
        },
    )
    connection.execute(_NEW_ENDPOINT, [_unlisted(endpoint) for endpoint in plan.endpoints])
    again = [_unlisted_client(client) for client in plan.clients if is_aa(client.id)]
    if again:
        connection.execute(_NEW_CLIENT, again)
    connection.execute(insert(CampaignArmRow), _arms_of(campaign_id, plan))
    connection.execute(insert(CellRow), _cells_of(campaign_id, plan))
    return campaign_id


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
            "trials_planned": plan.spec.trials_per_cell,
        }
        for position, (endpoint, profile) in enumerate(pairs)
    ]

"""Campaigns read from their rows, and which of them are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, Select, exists, func, select

from lastbyte.adapters.postgres.models import CampaignArmRow, CampaignRow, CellRow
from lastbyte.domain.campaign import AaArms, CampaignSpec, CampaignState, CellState, Priority
from lastbyte.domain.capture import CapturePolicy
from lastbyte.ports import CampaignFilter, CampaignRecord, Progress


def conditions(which: CampaignFilter) -> list[ColumnElement[bool]]:
    """``which`` as conditions on ``campaigns``."""
    found: list[ColumnElement[bool]] = []
    if which.state is not None:
        found.append(CampaignRow.state == which.state.value)
    if which.labels:
        found.append(CampaignRow.labels.contains(list(which.labels)))
    if which.name is not None:
        found.append(CampaignRow.name.icontains(which.name, autoescape=True))
    if which.vantage is not None:
        found.append(CampaignRow.vantage == which.vantage)
    if which.created_from is not None:
        found.append(CampaignRow.created_at >= which.created_from)
    if which.created_to is not None:
        found.append(CampaignRow.created_at < which.created_to)
    if which.provider is not None:
        of_provider = (CellRow.campaign_id == CampaignRow.id, CellRow.endpoint["provider"].astext == which.provider)
        found.append(exists().where(*of_provider))
    return found


def campaign_rows() -> Select[*tuple[Any, ...]]:
    """What ``records`` needs of each campaign."""
    return select(
        CampaignRow.id,
        CampaignRow.name,
        CampaignRow.state,
        CampaignRow.endpoint_ids,
        CampaignRow.profile_names,
        CampaignRow.rounds,
        CampaignRow.aa,
        CampaignRow.capture,
        CampaignRow.tls_groups,
        CampaignRow.priority,
        CampaignRow.max_rounds,
        CampaignRow.target_width_pct,
        CampaignRow.equivalence_pct,
        CampaignRow.seed,
        CampaignRow.vantage,
        CampaignRow.created_at,
        CampaignRow.started_at,
        CampaignRow.finished_at,
        CampaignRow.labels,
        CampaignRow.source,
    )


def records(connection: Connection, rows: Sequence[Row[Any]]) -> list[CampaignRecord]:
    """Campaigns with their arms and progress."""
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
            cells_given_up=row.given_up,
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
                func.count().filter(CellRow.state == CellState.QUARANTINED.value).label("given_up"),
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
            capture=CapturePolicy(row.capture),
            tls_groups=tuple(row.tls_groups),
            priority=Priority(row.priority),
            max_rounds=row.max_rounds,
            target_width_pct=row.target_width_pct,
            equivalence_pct=row.equivalence_pct,
        ),
        state=CampaignState(row.state),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        progress=progress,
        labels=tuple(row.labels),
        source=row.source,
    )

"""What can be done with a campaign, each within the caller's transaction.

The campaign's row is locked first, its cells after it, as workers do (``cell_store``).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, func, select, text, update
from sqlalchemy import delete as delete_from

from lastbyte.adapters.postgres.models import CampaignRow, CellRow
from lastbyte.domain.campaign import CampaignState, CellState
from lastbyte.domain.errors import NotFound

_BUSY_STATES = (CampaignState.QUEUED, CampaignState.RUNNING)
_OPEN_STATES = (*_BUSY_STATES, CampaignState.PAUSED)

_NO_DEADLINE = text("SET LOCAL statement_timeout = 0")
"""Removing a million trials may take its time."""


def campaign_uuid(campaign_id: str) -> UUID:
    """Raises NotFound for what can be no campaign's id."""
    try:
        return UUID(campaign_id)
    except ValueError as exc:
        raise NotFound("campaign", campaign_id) from exc


def _locked(connection: Connection, ident: UUID) -> CampaignState:
    """Its state, which nobody changes until the transaction ends. Raises NotFound."""
    query = select(CampaignRow.state).where(CampaignRow.id == ident).with_for_update(key_share=True)
    state = connection.execute(query).scalar_one_or_none()
    if state is None:
        raise NotFound("campaign", str(ident))
    return CampaignState(state)


def cancel(connection: Connection, ident: UUID) -> bool:
    """Stop it and its open cells; False when it was over already. Raises NotFound."""
    if _locked(connection, ident) not in _OPEN_STATES:
        return False
    connection.execute(
        update(CampaignRow)
        .where(CampaignRow.id == ident)
        .values(state=CampaignState.CANCELLED.value, finished_at=func.clock_timestamp())
    )
    connection.execute(
        update(CellRow)
        .where(CellRow.campaign_id == ident, CellRow.state.in_((CellState.PENDING.value, CellState.RUNNING.value)))
        .values(state=CellState.CANCELLED.value, lease_owner=None, lease_until=None, finished_at=func.clock_timestamp())
    )
    return True


def pause(connection: Connection, ident: UUID) -> bool:
    """Hold it, and take its running cells from their workers; False when it is over or paused. Raises NotFound.

    A worker learns of it when it stores its next trial, which is dropped; it is measured anew later.
    """
    if _locked(connection, ident) not in _BUSY_STATES:
        return False
    connection.execute(update(CampaignRow).where(CampaignRow.id == ident).values(state=CampaignState.PAUSED.value))
    connection.execute(
        update(CellRow)
        .where(CellRow.campaign_id == ident, CellRow.state == CellState.RUNNING.value)
        .values(state=CellState.PENDING.value, lease_owner=None, lease_until=None)
    )
    return True


def resume(connection: Connection, ident: UUID) -> bool:
    """Let it go on where it was; False when it is not paused. Raises NotFound."""
    if _locked(connection, ident) is not CampaignState.PAUSED:
        return False
    connection.execute(
        text(
            "UPDATE campaigns SET state = CASE WHEN started_at IS NULL THEN 'queued' ELSE 'running' END WHERE id = :id"
        ),
        {"id": ident},
    )
    return True


def edit(connection: Connection, ident: UUID, name: str | None, labels: Sequence[str] | None) -> None:
    """Change what is not None. Raises NotFound."""
    _locked(connection, ident)
    values = {"name": name, "labels": None if labels is None else list(labels)}
    changed = {key: value for key, value in values.items() if value is not None}
    if changed:
        connection.execute(update(CampaignRow).where(CampaignRow.id == ident).values(**changed))


def delete(connection: Connection, ident: UUID) -> bool:
    """Remove it with its cells and trials; False, and nothing is removed, unless it is over. Raises NotFound."""
    if not _locked(connection, ident).is_over:
        return False
    connection.execute(_NO_DEADLINE)
    connection.execute(delete_from(CampaignRow).where(CampaignRow.id == ident))
    return True

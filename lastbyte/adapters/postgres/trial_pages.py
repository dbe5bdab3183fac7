"""Pages of a campaign's trials: filtered, in an order, from a cursor on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Float, Row, cast, func, literal, select, tuple_

from lastbyte.adapters.postgres import paging
from lastbyte.adapters.postgres.models import CellRow, TrialRow
from lastbyte.adapters.postgres.result_rows import trial_rows
from lastbyte.domain.errors import InvalidInput
from lastbyte.ports import TrialFilter, TrialOrder

_LONGEST = cast(literal("Infinity"), Float(53))

_KEYS: dict[TrialOrder, ColumnElement[Any]] = {
    "started_at": func.extract("epoch", TrialRow.started_at),
    "ttlb": func.coalesce(TrialRow.ttlb_s, _LONGEST),
    "elapsed": TrialRow.elapsed_s.expression,
}


def page(
    connection: Connection,
    campaign_id: UUID,
    which: TrialFilter,
    limit: int,
    cursor: str | None,
    order: TrialOrder,
    *,
    descending: bool = False,
) -> tuple[Sequence[Row[Any]], str | None]:
    """Rows for ``result_rows.trial_record``, and the cursor of what follows; raises InvalidInput for a wrong one."""
    query = trial_rows().where(TrialRow.campaign_id == campaign_id, *conditions(which))
    key = _KEYS.get(order)
    if key is not None:
        query = query.add_columns(key.label("sort_key"))
    # the id comes last, so that equal keys have an order; it alone is an index range
    keys: list[ColumnElement[Any]] = [TrialRow.id.expression] if key is None else [key, TrialRow.id.expression]
    if cursor is not None:
        after = _position(cursor, order)
        place, start = tuple_(*keys), tuple_(*(literal(value) for value in after))
        query = query.where(place < start if descending else place > start)
    query = query.order_by(*(item.desc() if descending else item for item in keys)).limit(limit + 1)
    rows = connection.execute(query).all()
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], paging.encode(last.id) if key is None else paging.encode(repr(float(last.sort_key)), last.id)


def count(connection: Connection, campaign_id: UUID, which: TrialFilter) -> int:
    """How many there are on all pages."""
    if which == TrialFilter(  # the cells have counted already
        endpoint_id=which.endpoint_id,
        provider=which.provider,
        profile_name=which.profile_name,
        cell_id=which.cell_id,
    ):
        counted_by_cells = select(func.coalesce(func.sum(CellRow.trials_done), 0))
        query = counted_by_cells.where(CellRow.campaign_id == campaign_id, *_cell_conditions(which))
    else:
        counted = select(func.count()).select_from(TrialRow).join(CellRow, CellRow.id == TrialRow.cell_id)
        query = counted.where(TrialRow.campaign_id == campaign_id, *conditions(which))
    return int(connection.execute(query).scalar_one())


def conditions(which: TrialFilter) -> list[ColumnElement[bool]]:
    """``which`` as conditions on ``trials`` and ``cells``."""
    equal = (
        (TrialRow.client_id, which.client_id),
        (TrialRow.outcome, which.outcome),
        (TrialRow.round_index, which.round_index),
    )
    found = _cell_conditions(which)
    found += [column == value for column, value in equal if value is not None]
    flags = (
        (TrialRow.round_index == 0, which.warmup),
        (TrialRow.outcome != "ok", which.failed),
        (TrialRow.unproven_reason.is_not(None), which.unproven),
    )
    found += [condition if wanted else ~condition for condition, wanted in flags if wanted is not None]
    if which.started_from is not None:
        found.append(TrialRow.started_at >= which.started_from)
    if which.started_to is not None:
        found.append(TrialRow.started_at < which.started_to)
    if which.ttlb_from_s is not None:
        found.append(TrialRow.ttlb_s >= which.ttlb_from_s)
    if which.ttlb_to_s is not None:
        found.append(TrialRow.ttlb_s <= which.ttlb_to_s)
    return found


def _cell_conditions(which: TrialFilter) -> list[ColumnElement[bool]]:
    equal = (
        (CellRow.endpoint_id, which.endpoint_id),
        (CellRow.endpoint["provider"].astext, which.provider),
        (CellRow.profile_name, which.profile_name),
        (CellRow.id, which.cell_id),
    )
    return [column == value for column, value in equal if value is not None]


def _position(cursor: str, order: TrialOrder) -> tuple[float | int, ...]:
    if order == "id":
        return (int(paging.decode(cursor, int)[0]),)
    key, ident = paging.decode(cursor, str, int)
    try:
        return (float(key), int(ident))
    except ValueError as exc:
        raise InvalidInput("cursor", "is not one of this order.", "Use the value of next unchanged.") from exc

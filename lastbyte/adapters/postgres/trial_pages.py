"""Pages of a campaign's trials: filtered, in an order, from a cursor on.

How many there are on all pages is counted in ``cells`` and ``cell_rollups``, of which less is read than of ``trials``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Integer,
    Row,
    Text,
    any_,
    cast,
    column,
    func,
    literal,
    select,
    true,
    tuple_,
)

from lastbyte.adapters.postgres import paging
from lastbyte.adapters.postgres.models import CellRollupRow, CellRow, TrialRow
from lastbyte.adapters.postgres.result_rows import trial_rows
from lastbyte.domain.errors import InvalidInput
from lastbyte.ports import TrialFilter, TrialOrder

_LONGEST = cast(literal("Infinity"), Float(53))

_KEYS: dict[TrialOrder, ColumnElement[Any]] = {
    "started_at": func.extract("epoch", TrialRow.started_at),
    "ttlb": func.coalesce(TrialRow.ttlb_s, _LONGEST),
    "elapsed": TrialRow.elapsed_s.expression,
}


@dataclass(frozen=True, slots=True)
class _Columns:
    """What trials are filtered by, where it stands."""

    client_id: ColumnElement[str]
    outcome: ColumnElement[str]
    round_index: ColumnElement[int]
    unproven: ColumnElement[bool]
    ttlb_s: ColumnElement[Any]


_TRIALS = _Columns(
    TrialRow.client_id.expression,
    TrialRow.outcome.expression,
    TrialRow.round_index.expression,
    TrialRow.unproven_reason.is_not(None),
    TrialRow.ttlb_s.expression,
)

_ITEMS = (
    func.unnest(CellRollupRow.rounds, CellRollupRow.kinds, CellRollupRow.ttlb_s, CellRollupRow.unproven)
    .table_valued(
        column("round_index", Integer), column("outcome", Text), column("ttlb_s", Float(53)), column("unproven", Text)
    )
    .render_derived("items")
)
"""A row per trial of an arm."""

_ROLLED_UP = _Columns(
    CellRollupRow.client_id.expression,
    _ITEMS.c.outcome,
    _ITEMS.c.round_index,
    _ITEMS.c.unproven != "",
    _ITEMS.c.ttlb_s,
)


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
    query = trial_rows().where(*_of_campaign(campaign_id), *conditions(which))
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
    of_cells = [CellRow.campaign_id == campaign_id, *_cell_conditions(which)]
    of_trials = _trial_conditions(which, _ROLLED_UP)
    if which.started_from is not None or which.started_to is not None:  # which rollups don't know
        counted = select(func.count()).select_from(TrialRow).join(CellRow, CellRow.id == TrialRow.cell_id)
        query = counted.where(*_of_campaign(campaign_id), *conditions(which))
    elif of_trials:
        # an array, so that each is looked up, whatever PostgreSQL knows of the rollups of other campaigns
        cells = func.array(select(CellRow.id).where(*of_cells).scalar_subquery())
        rolled_up = select(func.count()).select_from(CellRollupRow).join(_ITEMS, true())
        query = rolled_up.where(CellRollupRow.cell_id == any_(cells), *of_trials)
    else:
        query = select(func.coalesce(func.sum(CellRow.trials_done), 0)).where(*of_cells)
    return int(connection.execute(query).scalar_one())


def conditions(which: TrialFilter) -> list[ColumnElement[bool]]:
    """``which`` as conditions on ``trials`` and ``cells``."""
    found = _cell_conditions(which) + _trial_conditions(which, _TRIALS)
    if which.started_from is not None:
        found.append(TrialRow.started_at >= which.started_from)
    if which.started_to is not None:
        found.append(TrialRow.started_at < which.started_to)
    return found


def _of_campaign(campaign_id: UUID) -> list[ColumnElement[bool]]:
    """Said of its cells too, which nobody can know from that of its trials.

    Without it, PostgreSQL may look for the cells of an endpoint and profile in all campaigns there are, and for the
    trials of each in every month.
    """
    return [TrialRow.campaign_id == campaign_id, CellRow.campaign_id == campaign_id]


def _trial_conditions(which: TrialFilter, columns: _Columns) -> list[ColumnElement[bool]]:
    equal = (
        (columns.client_id, which.client_id),
        (columns.outcome, which.outcome),
        (columns.round_index, which.round_index),
    )
    found: list[ColumnElement[bool]] = [column == value for column, value in equal if value is not None]
    flags = (
        (columns.round_index == 0, which.warmup),
        (columns.outcome != "ok", which.failed),
        (columns.unproven, which.unproven),
    )
    found += [condition if wanted else ~condition for condition, wanted in flags if wanted is not None]
    if which.ttlb_from_s is not None:
        found.append(columns.ttlb_s >= which.ttlb_from_s)
    if which.ttlb_to_s is not None:
        found.append(columns.ttlb_s <= which.ttlb_to_s)
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

"""Campaigns read from their rows, and which of them are wanted.

A list is one narrow query. What counting cells tells of a campaign that is over stays in memory: nothing changes it but
a change of the campaign's own row, whose version comes with the narrow query.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from lastbyte.adapters.postgres.engine import read
from lastbyte.domain.campaign import AaArms, CampaignSpec, CampaignState, Priority
from lastbyte.domain.capture import CapturePolicy
from lastbyte.ports import CampaignFilter, CampaignRecord, Progress

MOST_KEPT = 2000
"""Campaigns in memory, per process; some 3 KB each."""

COLUMNS = """
    id, name, state, endpoint_ids, profile_names, rounds, aa, capture, tls_groups, priority, max_rounds,
    target_width_pct, equivalence_pct, seed, vantage, created_at, started_at, finished_at, labels, source,
    campaigns.xmin::text AS version"""

_WANTED = {
    "state": "state = %(state)s",
    "labels": "labels @> %(labels)s::text[]",
    "name": "lower(name) LIKE '%%' || lower(%(name)s) || '%%' ESCAPE '/'",
    "vantage": "vantage = %(vantage)s",
    "created_from": "created_at >= %(created_from)s",
    "created_to": "created_at < %(created_to)s",
    "provider": """
        EXISTS (SELECT FROM cells WHERE campaign_id = campaigns.id AND endpoint ->> 'provider' = %(provider)s)""",
}

WHOLE = f"""
    SELECT {COLUMNS},
           ARRAY(SELECT client_id FROM campaign_arms WHERE campaign_id = campaigns.id ORDER BY position) AS arms,
           progress.*
      FROM campaigns CROSS JOIN LATERAL (
           SELECT count(*) AS cells_planned,
                  count(*) FILTER (WHERE state = 'done') AS cells_done,
                  count(*) FILTER (WHERE state = 'running' AND lease_until >= clock_timestamp()) AS cells_running,
                  count(*) FILTER (WHERE state = 'quarantined') AS cells_given_up,
                  sum(trials_planned) AS trials_planned, sum(trials_done) AS trials_done,
                  sum(trials_failed) AS trials_failed, sum(busy_s) AS busy_s,
                  sum(rounds_saved) AS rounds_saved, sum(trials_saved) AS trials_saved,
                  array_agg(DISTINCT waiting_for)
                      FILTER (WHERE state = 'pending' AND not_before > clock_timestamp()) AS waiting_for
             FROM cells WHERE campaign_id = campaigns.id) AS progress
     WHERE id = ANY(%(ids)s)
"""  # noqa: S608 - put together from constants


class CampaignReader:
    """Reads campaigns; safe for many threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._over: OrderedDict[UUID, tuple[Any, CampaignRecord]] = OrderedDict()
        """Rows of campaigns that are over, and what they mean."""

    def get(self, ident: UUID) -> CampaignRecord | None:
        """One campaign; None when there is none."""
        return self._whole([ident]).get(ident)

    def page(
        self, which: CampaignFilter, limit: int, after: tuple[datetime, UUID] | None
    ) -> tuple[Sequence[CampaignRecord], int, tuple[datetime, UUID] | None]:
        """Campaigns, newest first, how many there are without ``limit``, and what the next page comes after."""
        conditions, parameters = _conditions(which)
        total = f"SELECT count(*) AS total FROM campaigns WHERE {conditions}"  # noqa: S608 - constants
        place = "AND (created_at, id) < (%(after_at)s, %(after_id)s)" if after else ""
        query = f"""
            SELECT {COLUMNS}, ({total}) AS total FROM campaigns WHERE {conditions} {place}
          ORDER BY created_at DESC, id DESC LIMIT %(limit)s"""  # noqa: S608 - constants
        if after:
            parameters.update(after_at=after[0], after_id=after[1])
        rows = read(self._engine, query, {**parameters, "limit": limit + 1})
        if not rows:
            return (), read(self._engine, total, parameters)[0].total if after else 0, None
        shown = rows[:limit]
        known = {row.id: record for row in shown if (record := self._known(row)) is not None}
        missing = [row.id for row in shown if row.id not in known]
        if missing:
            known.update(self._whole(missing))
        # one that was deleted in between is left out
        found = [known[row.id] for row in shown if row.id in known]
        return found, rows[0].total, (shown[-1].created_at, shown[-1].id) if len(rows) > limit else None

    def _known(self, row: Any) -> CampaignRecord | None:
        kept = self._over.get(row.id)
        return kept[1] if kept is not None and kept[0] == row.version else None

    def _whole(self, idents: list[UUID]) -> dict[UUID, CampaignRecord]:
        found: dict[UUID, CampaignRecord] = {}
        for row in read(self._engine, WHOLE, {"ids": idents}):
            found[row.id] = record = _record(row)
            if record.state.is_over:
                self._over[row.id] = (row.version, record)
        while len(self._over) > MOST_KEPT:
            self._over.popitem(last=False)
        return found


def _conditions(which: CampaignFilter) -> tuple[str, dict[str, Any]]:
    values: Mapping[str, Any] = {
        "state": which.state.value if which.state else None,
        "labels": list(which.labels) or None,
        "name": _escaped(which.name) if which.name is not None else None,
        "vantage": which.vantage,
        "created_from": which.created_from,
        "created_to": which.created_to,
        "provider": which.provider,
    }
    wanted = {name: value for name, value in values.items() if value is not None}
    return " AND ".join(_WANTED[name] for name in wanted) or "true", wanted


def _escaped(part: str) -> str:
    for sign in "/%_":
        part = part.replace(sign, f"/{sign}")
    return part


def _record(row: Any) -> CampaignRecord:
    return CampaignRecord(
        id=str(row.id),
        spec=CampaignSpec(
            name=row.name,
            endpoint_ids=tuple(row.endpoint_ids),
            profile_names=tuple(row.profile_names),
            client_ids=tuple(row.arms),
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
        progress=Progress(
            cells_planned=row.cells_planned,
            cells_done=row.cells_done,
            trials_planned=row.trials_planned,
            trials_done=row.trials_done,
            trials_failed=row.trials_failed,
            busy_s=row.busy_s,
            cells_running=row.cells_running,
            cells_given_up=row.cells_given_up,
            rounds_saved=row.rounds_saved,
            trials_saved=row.trials_saved,
            waiting_for=tuple(row.waiting_for or ()),
        ),
        labels=tuple(row.labels),
        source=row.source,
    )

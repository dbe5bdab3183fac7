"""What comparisons need of a cell's trials, in one row per cell and arm, so that a heatmap never reads ``trials``.

The row is written by the statement that stores the trial, and its key is what lets each round of an arm in only once:
``trials`` is partitioned by time, where no constraint could hold across months.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import BigInteger, Text

from lastbyte.ports import Outcome

ADD_ONE = """
        INSERT INTO cell_rollups AS known (
            cell_id, client_id, rounds, kinds, ttlb_s, handshake_s, ttfb_s, elapsed_s, body_bytes, unproven, bodies,
            tls)
        SELECT id, :client_id, ARRAY[CAST(:round_index AS integer)], ARRAY[CAST(:outcome AS text)],
               ARRAY[CAST(:ttlb_s AS float8)], ARRAY[CAST(:handshake_s AS float8)], ARRAY[CAST(:ttfb_s AS float8)],
               ARRAY[CAST(:elapsed_s AS float8)], ARRAY[CAST(:body_bytes AS bigint)],
               ARRAY[coalesce(CAST(:unproven_reason AS text), '')], ARRAY[CAST(:body AS text)],
               ARRAY[CAST(:tls_line AS text)]
          FROM held
            ON CONFLICT (cell_id, client_id) DO UPDATE
           SET rounds = known.rounds || excluded.rounds, kinds = known.kinds || excluded.kinds,
               ttlb_s = known.ttlb_s || excluded.ttlb_s, handshake_s = known.handshake_s || excluded.handshake_s,
               ttfb_s = known.ttfb_s || excluded.ttfb_s, elapsed_s = known.elapsed_s || excluded.elapsed_s,
               body_bytes = known.body_bytes || excluded.body_bytes, unproven = known.unproven || excluded.unproven,
               bodies = known.bodies || excluded.bodies, tls = known.tls || excluded.tls
         WHERE NOT known.rounds && excluded.rounds
     RETURNING cell_id
"""
"""Part of the statement that stores a trial: gives a row unless this round of this arm is there already.

ON CONFLICT looks at the newest version of the row under its lock, so two writers at once can't both add the round.
"""

BODY_DIGITS = 16
"""Digits of a body's digest that are kept here: enough to tell bodies apart."""

_REBUILD = text("""
    INSERT INTO cell_rollups (
        cell_id, client_id, rounds, kinds, ttlb_s, handshake_s, ttfb_s, elapsed_s, body_bytes, unproven, bodies, tls)
    SELECT cell_id, client_id, array_agg(round_index ORDER BY round_index), array_agg(outcome ORDER BY round_index),
           array_agg(ttlb_s ORDER BY round_index), array_agg(handshake_s ORDER BY round_index),
           array_agg(ttfb_s ORDER BY round_index), array_agg(elapsed_s ORDER BY round_index),
           array_agg(body_bytes ORDER BY round_index), array_agg(coalesce(unproven_reason, '') ORDER BY round_index),
           array_agg(coalesce(left(body_sha256, 16), '') ORDER BY round_index),
           array_agg(CASE WHEN tls IS NULL THEN '' ELSE concat_ws(' ', coalesce(tls ->> 'version', '?'),
                     coalesce(tls ->> 'cipher', '?'), coalesce(tls ->> 'group', '?')) END ORDER BY round_index)
      FROM trials
     WHERE campaign_id = :campaign_id
  GROUP BY cell_id, client_id
""")

_TWICE = text("""
    SELECT client_id, round
      FROM cell_rollups JOIN cells ON cells.id = cell_rollups.cell_id CROSS JOIN LATERAL unnest(rounds) AS round
     WHERE cells.campaign_id = :campaign_id
  GROUP BY cell_id, client_id, round HAVING count(*) > 1
     LIMIT 1
""")

_TOTALS = "rounds, kinds, ttlb_s, unproven, body_bytes, elapsed_s"
_PARTS = "handshake_s, ttfb_s, bodies, tls"


def _of_cells(columns: str) -> TextClause:
    return text(f"""
        SELECT cell_id, client_id, {columns}
          FROM cell_rollups
         WHERE cell_id = ANY(:cell_ids) AND (CAST(:client_ids AS text[]) IS NULL OR client_id = ANY(:client_ids))
    """).bindparams(bindparam("cell_ids", type_=ARRAY(BigInteger)), bindparam("client_ids", type_=ARRAY(Text)))  # noqa: S608


_OF_CELLS = _of_cells(f"{_TOTALS}, {_PARTS}")
"""The columns in the order of Outcome's fields."""

_TOTALS_OF_CELLS = _of_cells(_TOTALS)

_CELLS_OF = text("SELECT id FROM cells WHERE campaign_id = :campaign_id")


def of_cells(connection: Connection, cell_ids: Sequence[int], client_ids: Sequence[str] | None = None) -> list[Outcome]:
    """The trials of these arms (None: of all) in these cells, the warm-up round too."""
    return _read(connection, _OF_CELLS, cell_ids, client_ids)


def totals_of_cells(
    connection: Connection, cell_ids: Sequence[int], client_ids: Sequence[str] | None = None
) -> list[Outcome]:
    """As ``of_cells`` without phases, bodies and handshakes, which takes half the time where they are not needed."""
    return _read(connection, _TOTALS_OF_CELLS, cell_ids, client_ids)


def _read(
    connection: Connection, query: TextClause, cell_ids: Sequence[int], client_ids: Sequence[str] | None
) -> list[Outcome]:
    arms = None if client_ids is None else list(client_ids)
    rows = connection.execute(query, {"cell_ids": list(cell_ids), "client_ids": arms}).all()
    return [
        Outcome(cell_id, round_index, client_id, *columns)
        for cell_id, client_id, rounds, *arrays in rows
        for round_index, *columns in zip(rounds, *arrays, strict=True)
    ]


def cells_of(connection: Connection, campaign_id: UUID) -> Sequence[int]:
    """The cells of a campaign."""
    return connection.execute(_CELLS_OF, {"campaign_id": campaign_id}).scalars().all()


def rebuild(connection: Connection, campaign_id: UUID) -> tuple[str, int] | None:
    """Make the rows of a campaign whose trials were stored in bulk.

    Gives a client and a round that are there twice in one cell, which the caller then refuses; None when all is well.
    """
    connection.execute(_REBUILD, {"campaign_id": campaign_id})
    twice = connection.execute(_TWICE, {"campaign_id": campaign_id}).one_or_none()
    return None if twice is None else (twice.client_id, twice.round)

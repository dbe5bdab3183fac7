"""Many trials at once, by COPY."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import Connection, text
from sqlalchemy.exc import DataError, IntegrityError

_NO_DEADLINE = text("SET LOCAL statement_timeout = 0")


def copy_trials(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Store rows of ``trials``, all with the same columns, within the connection's transaction.

    Mappings become JSON, None is NULL. Raises SQLAlchemy's IntegrityError and DataError, as an INSERT would.
    """
    ahead = iter(rows)
    first = next(ahead, None)
    if first is None:
        return
    connection.execute(_NO_DEADLINE)
    raw = connection.connection.driver_connection
    if not isinstance(raw, psycopg.Connection):
        raise TypeError(f"COPY needs psycopg, not {type(raw)}")
    columns = sql.SQL(", ").join(sql.Identifier(name) for name in first)
    with _translated(), raw.cursor() as cursor, cursor.copy(_COPY.format(columns)) as copy:
        for row in chain([first], ahead):
            copy.write_row([Jsonb(value) if isinstance(value, dict) else value for value in row.values()])


_COPY = sql.SQL("COPY trials ({}) FROM STDIN")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.IntegrityError as exc:
        raise IntegrityError("COPY trials", None, exc) from exc
    except psycopg.DataError as exc:
        raise DataError("COPY trials", None, exc) from exc

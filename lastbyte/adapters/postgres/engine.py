"""The engine, and the one place where a lost database becomes an error of the product."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import psycopg
from psycopg.errors import UndefinedColumn, UndefinedTable
from psycopg.rows import namedtuple_row
from sqlalchemy import Connection, Engine, PoolProxiedConnection, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError, InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from lastbyte.domain.errors import StoreUnavailable

ASKED_AFTER_S = 5.0
"""An idle connection is asked whether it still lives before it is used after so long."""

_USED_AT = "lastbyte used at"

STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 10_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000


def make_engine(database_url: str, application_name: str = "lastbyte", pool_size: int = 10) -> Engine:
    """An engine with timeouts, so that nothing waits for ever on a stuck or vanished server.

    Connections that died meanwhile (a restarted server) are noticed before use and replaced. ``database_url`` is a
    SQLAlchemy URL such as ``postgresql+psycopg://postgres@/lastbyte?host=/run/dir``.
    """
    options = " ".join(
        f"-c {name}={value}"
        for name, value in (
            ("statement_timeout", STATEMENT_TIMEOUT_MS),
            ("lock_timeout", LOCK_TIMEOUT_MS),
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_TIMEOUT_MS),
            ("timezone", "UTC"),
        )
    )
    engine = create_engine(
        database_url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=10,
        connect_args={
            "connect_timeout": 5,
            "application_name": application_name,
            "options": options,
            "keepalives_idle": 30,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 20_000,
        },
    )
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", _check)
    return engine


def _note_use(_connection: object, record: ConnectionPoolEntry) -> None:
    record.info[_USED_AT] = time.monotonic()


def _check(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
    """Makes the pool replace a connection that died while nobody used it.

    A server that goes says so on the socket; one that was cut off says nothing, and is asked after a while.
    """
    driver = cast("psycopg.Connection[Any]", connection)
    used_at = record.info.get(_USED_AT)
    if used_at is None:
        return  # it is new
    try:
        said = bool(select.select([driver.fileno()], [], [], 0)[0])
        if said or time.monotonic() - used_at > ASKED_AFTER_S:
            driver.autocommit = True
            driver.execute("SELECT 1")
            driver.autocommit = False
    except (psycopg.Error, OSError, ValueError) as exc:
        raise DisconnectionError(str(exc)) from exc


@contextmanager
def translated() -> Iterator[None]:
    """Turn "the server can't be reached" into StoreUnavailable; other database errors pass as they are."""
    try:
        yield
    except PoolTimeout as exc:
        raise StoreUnavailable("All database connections are in use; try again in a moment.") from exc
    except (OperationalError, InterfaceError) as exc:
        raise _unavailable(exc.orig or exc) from exc
    except (psycopg.OperationalError, psycopg.InterfaceError) as exc:
        raise _unavailable(exc) from exc
    except (UndefinedTable, UndefinedColumn) as exc:
        raise _outdated() from exc
    except ProgrammingError as exc:
        if isinstance(exc.orig, (UndefinedTable, UndefinedColumn)):
            raise _outdated() from exc
        raise


def _unavailable(exc: BaseException) -> StoreUnavailable:
    reason = (str(exc).strip() or type(exc).__name__).splitlines()[0]
    return StoreUnavailable(f"The database can't be used now: {reason}")


def _outdated() -> StoreUnavailable:
    remedy = "Bring it up to date: python -m migrations upgrade."
    return StoreUnavailable(f"The database does not have the current tables. {remedy}")


class SharedTransaction:
    """A transaction that all calls of stores within a context share: what they change is kept together or not at all.

    One thread at a time may use it. Each method raises StoreUnavailable when the database can't be reached.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.connection: Connection | None = None
        """None before the start and after the end; calls then have transactions of their own."""

    def begin(self) -> Connection:
        """Open it."""
        with translated():
            self.connection = self.engine.connect()
            self.connection.begin()
        return self.connection

    @contextmanager
    def joined(self) -> Iterator[None]:
        """While the block runs, ``transaction`` and ``single_statement`` of this engine take part in it."""
        token = _shared.set(self)
        try:
            yield
        finally:
            _shared.reset(token)

    def commit(self) -> None:
        """Keep everything. When this raises, nothing was kept, unless the connection broke just then."""
        connection, self.connection = self.connection, None
        if connection is not None:
            with translated(), connection:
                connection.commit()

    def rollback(self) -> None:
        """Keep nothing; does nothing after the end."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()


_shared: ContextVar[SharedTransaction | None] = ContextVar("shared transaction", default=None)


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """One transaction, or a savepoint of the shared one; StoreUnavailable when the database can't be reached."""
    shared = _shared_connection(engine)
    if shared is None:
        with translated(), engine.begin() as connection:
            yield connection
    else:
        with translated(), shared.begin_nested():
            yield shared


@contextmanager
def single_statement(engine: Engine) -> Iterator[Connection]:
    """A connection in autocommit mode: a statement that is a transaction by itself needs one round trip."""
    shared = _shared_connection(engine)
    if shared is None:
        with translated(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            yield connection
    else:
        with translated(), shared.begin_nested():
            yield shared


def read(engine: Engine, query: str, parameters: Mapping[str, object]) -> list[Any]:
    """The rows of one SELECT, as named tuples, by psycopg itself: for what is asked for often.

    One round trip; PostgreSQL keeps the plan of a query that comes again. Takes part in a shared transaction.
    """
    shared = _shared_connection(engine)
    with translated():
        if shared is not None:
            return _rows(cast("psycopg.Connection[Any]", shared.connection.driver_connection), query, parameters)
        pooled = engine.raw_connection()
        try:
            connection = cast("psycopg.Connection[Any]", pooled.driver_connection)
            connection.autocommit = True
            try:
                return _rows(connection, query, parameters)
            finally:
                if connection.closed:
                    pooled.invalidate()
                else:
                    connection.autocommit = False
        finally:
            pooled.close()


def _rows(connection: psycopg.Connection[Any], query: str, parameters: Mapping[str, object]) -> list[Any]:
    with connection.cursor(row_factory=namedtuple_row) as cursor:
        return cursor.execute(query.encode(), parameters, prepare=True).fetchall()


def _shared_connection(engine: Engine) -> Connection | None:
    shared = _shared.get()
    return shared.connection if shared is not None and shared.engine is engine else None

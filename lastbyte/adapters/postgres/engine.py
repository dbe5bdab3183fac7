"""The engine, and the one place where a lost database becomes an error of the product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from psycopg.errors import UndefinedColumn, UndefinedTable
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from lastbyte.domain.errors import StoreUnavailable

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
    return create_engine(
        database_url,
        pool_pre_ping=True,
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


@contextmanager
def translated() -> Iterator[None]:
    """Turn "the server can't be reached" into StoreUnavailable; other database errors pass as they are."""
    try:
        yield
    except PoolTimeout as exc:
        raise StoreUnavailable("All database connections are in use; try again in a moment.") from exc
    except (OperationalError, InterfaceError) as exc:
        reason = str(exc.orig).strip().splitlines()[0] if exc.orig else str(exc)
        raise StoreUnavailable(f"The database can't be used now: {reason}") from exc
    except ProgrammingError as exc:
        if isinstance(exc.orig, (UndefinedTable, UndefinedColumn)):
            remedy = "Bring it up to date: python -m migrations upgrade."
            raise StoreUnavailable(f"The database does not have the current tables. {remedy}") from exc
        raise


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


def _shared_connection(engine: Engine) -> Connection | None:
    shared = _shared.get()
    return shared.connection if shared is not None and shared.engine is engine else None

"""The engine, and the one place where a lost database becomes an error of the product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """One transaction; StoreUnavailable when the database can't be reached."""
    with translated(), engine.begin() as connection:
        yield connection


@contextmanager
def single_statement(engine: Engine) -> Iterator[Connection]:
    """A connection in autocommit mode: a statement that is a transaction by itself needs one round trip."""
    with translated(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection

"""Fixtures: a migrated database per test, copied from a template that is migrated once per session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import psycopg
import pytest
from sqlalchemy import Engine

from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.embedded.postgres import Postgres
from migrations import run

_TEMPLATE = "migrated_template"
_numbers = count(1)


def _administer(server: Postgres, statement: str) -> None:
    with psycopg.connect(
        host=str(server.socket_folder), user="postgres", dbname="postgres", autocommit=True
    ) as connection:
        connection.execute(statement.encode())


@pytest.fixture(scope="session")
def migrated_template(embedded_postgres: Postgres) -> str:
    embedded_postgres.ensure_database(_TEMPLATE)
    run.upgrade(embedded_postgres.url(_TEMPLATE))
    return _TEMPLATE


@contextmanager
def migrated_database(server: Postgres, template: str) -> Iterator[str]:
    """SQLAlchemy URL of a migrated database, dropped afterwards."""
    name = f"migrated_{next(_numbers)}"
    _administer(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield server.url(name)
    _administer(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database_url(embedded_postgres: Postgres, migrated_template: str) -> Iterator[str]:
    with migrated_database(embedded_postgres, migrated_template) as url:
        yield url


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = make_engine(database_url, "lastbyte tests")
    yield engine
    engine.dispose()

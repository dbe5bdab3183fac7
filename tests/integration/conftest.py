"""Real services for integration tests: an embedded PostgreSQL and Valkey of the test session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
import redis

from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.running import running_postgres, running_valkey
from lastbyte.embedded.valkey import Valkey

_numbers = count(1)


@pytest.fixture(scope="session")
def embedded_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """One server for the whole session; without synchronous commit, because no test here pulls the plug on it."""
    var = tmp_path_factory.mktemp("pg")
    with running_postgres(Postgres.under(var, {"synchronous_commit": "off"}), var / "postgres.log") as server:
        yield server


@pytest.fixture
def embedded_postgres_url(embedded_postgres: Postgres) -> Iterator[str]:
    """SQLAlchemy URL of an empty database of its own, dropped after the test."""
    name = f"test_{next(_numbers)}"
    embedded_postgres.ensure_database(name)
    yield embedded_postgres.url(name)
    with psycopg.connect(
        host=str(embedded_postgres.socket_folder), user="postgres", dbname="postgres", autocommit=True
    ) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


@pytest.fixture(scope="session")
def embedded_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    var: Path = tmp_path_factory.mktemp("kv")
    with running_valkey(Valkey.under(var), var / "valkey.log") as server:
        yield server


@pytest.fixture
def embedded_valkey_url(embedded_valkey: Valkey) -> Iterator[str]:
    """Broker URL of an empty Valkey; emptied again after the test."""
    yield embedded_valkey.url()
    with redis.Redis(unix_socket_path=str(embedded_valkey.socket)) as client:
        client.flushall()

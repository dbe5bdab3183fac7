"""Answers to creates that carried a key, so that a repeated one creates nothing more.

The answer is kept in the transaction that creates: who dies in between has created nothing, and the key is still free.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

from lastbyte.adapters.postgres.engine import SharedTransaction, single_statement, translated

KEPT_FOR = "24 hours"

# Until the end of the transaction, and gone with its connection when its process dies.
_TAKE = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:scope || ' ' || :key, 0))")

_KNOWN = text(f"""
    SELECT request_sha256, status, headers, body FROM idempotency_keys
     WHERE scope = :scope AND key = :key AND status IS NOT NULL
       AND created_at >= clock_timestamp() - interval '{KEPT_FOR}'
""")  # noqa: S608 - a constant of this module

_KEEP = text("""
    INSERT INTO idempotency_keys (scope, key, request_sha256, status, headers, body, created_at)
    VALUES (:scope, :key, :request_sha256, :status, :headers, :body, clock_timestamp())
        ON CONFLICT (scope, key) DO UPDATE
       SET request_sha256 = excluded.request_sha256, status = excluded.status, headers = excluded.headers,
           body = excluded.body, created_at = excluded.created_at
""").bindparams(bindparam("headers", type_=JSONB))

_FORGET = text(f"""
    DELETE FROM idempotency_keys WHERE created_at < clock_timestamp() - interval '{KEPT_FOR}'
""")  # noqa: S608 - a constant of this module


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """What came with this key before."""

    request_sha256: str
    status: int | None
    """None: it is not answered yet."""
    headers: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""


class Attempt:
    """A request that came with a key: when that was free, its transaction, open until it is kept or given up."""

    def __init__(self, shared: SharedTransaction, parameters: dict[str, str], known: KnownRequest | None) -> None:
        self.known = known
        self._shared = shared
        self._parameters = parameters

    def joined(self) -> AbstractContextManager[None]:
        """What stores change while the block runs is part of it."""
        return self._shared.joined()

    def keep(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Store the answer, and with it all that was created. When this raises, nothing is."""
        answer = {"status": status, "headers": headers, "body": body}
        connection = self._shared.connection
        assert connection is not None  # noqa: S101 - kept once
        with translated():
            connection.execute(_KEEP, {**self._parameters, **answer})
        self._shared.commit()

    def give_up(self) -> None:
        """Store nothing; does nothing when it was kept."""
        self._shared.rollback()


class PostgresIdempotency:
    """Keys and their answers, for a day. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def attempt(self, scope: str, key: str, request_sha256: str) -> Attempt:
        """Take the key; ``known`` of what comes back says what came with it before."""
        with single_statement(self._engine) as connection:
            connection.execute(_FORGET)
        parameters = {"scope": scope, "key": key, "request_sha256": request_sha256}
        shared = SharedTransaction(self._engine)
        try:
            with translated():
                known = _known(shared.begin(), parameters)
        except BaseException:
            shared.rollback()
            raise
        if known is not None:
            shared.rollback()
        return Attempt(shared, parameters, known)


def _known(connection: Connection, parameters: dict[str, str]) -> KnownRequest | None:
    which = {"scope": parameters["scope"], "key": parameters["key"]}
    if not connection.execute(_TAKE, which).scalar_one():
        return KnownRequest(parameters["request_sha256"], None)
    row = connection.execute(_KNOWN, which).one_or_none()
    return None if row is None else KnownRequest(row.request_sha256, row.status, row.headers or {}, bytes(row.body))

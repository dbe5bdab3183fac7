"""Answers to creates that carried a key, so that a repeated one creates nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

from lastbyte.adapters.postgres.engine import transaction

KEPT_FOR = "24 hours"
UNANSWERED_FOR = "60 seconds"
"""After this a request without an answer counts as lost with its process, and its key is free again."""

_TAKE = text(f"""
    INSERT INTO idempotency_keys AS known (scope, key, request_sha256)
    VALUES (:scope, :key, :request_sha256)
        ON CONFLICT (scope, key) DO UPDATE
       SET request_sha256 = excluded.request_sha256, status = NULL, headers = NULL, body = NULL,
           created_at = clock_timestamp()
     WHERE known.created_at < clock_timestamp() - interval '{KEPT_FOR}'
        OR (known.status IS NULL AND known.created_at < clock_timestamp() - interval '{UNANSWERED_FOR}')
 RETURNING key
""")  # noqa: S608 - constants of this module

_KNOWN = text("""
    SELECT request_sha256, status, headers, body FROM idempotency_keys WHERE scope = :scope AND key = :key
""")

_ANSWER = text("""
    UPDATE idempotency_keys SET status = :status, headers = :headers, body = :body WHERE scope = :scope AND key = :key
""").bindparams(bindparam("headers", type_=JSONB))

_FREE = text("DELETE FROM idempotency_keys WHERE scope = :scope AND key = :key AND status IS NULL")

_FORGET = text(f"""
    DELETE FROM idempotency_keys WHERE created_at < clock_timestamp() - interval '{KEPT_FOR}'
""")  # noqa: S608 - a constant of this module


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """What came with this key before."""

    request_sha256: str
    status: int | None
    """None: it is not answered yet."""
    headers: dict[str, Any]
    body: bytes


class PostgresIdempotency:
    """Keys and their answers, for a day. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def take(self, scope: str, key: str, request_sha256: str) -> KnownRequest | None:
        """None when the key was free and is now taken; else what came with it before."""
        parameters = {"scope": scope, "key": key, "request_sha256": request_sha256}
        with transaction(self._engine) as connection:
            connection.execute(_FORGET)
            if connection.execute(_TAKE, parameters).one_or_none() is not None:
                return None
            row = connection.execute(_KNOWN, {"scope": scope, "key": key}).one()
        return KnownRequest(row.request_sha256, row.status, row.headers or {}, bytes(row.body or b""))

    def answer(self, scope: str, key: str, status: int, headers: dict[str, str], body: bytes) -> None:
        """Keep the answer."""
        parameters = {"scope": scope, "key": key, "status": status, "headers": headers, "body": body}
        with transaction(self._engine) as connection:
            connection.execute(_ANSWER, parameters)

    def free(self, scope: str, key: str) -> None:
        """Nothing was created: the key may be used again."""
        with transaction(self._engine) as connection:
            connection.execute(_FREE, {"scope": scope, "key": key})

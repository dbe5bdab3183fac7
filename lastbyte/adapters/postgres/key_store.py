"""API keys: ``lastbyte.ports.KeyStore`` on PostgreSQL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psycopg.errors import UniqueViolation
from sqlalchemy import Engine, Row, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from lastbyte.adapters.postgres.engine import single_statement, transaction
from lastbyte.adapters.postgres.models import ApiKeyRow
from lastbyte.domain.access import ApiKey, Scope
from lastbyte.domain.errors import Conflict, NotFound


class PostgresKeyStore:
    """``lastbyte.ports.KeyStore``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(
        self,
        name: str,
        prefix: str,
        secret_sha256: str,
        scope: Scope,
        expires_at: datetime | None,
        requests_per_minute: int | None,
    ) -> ApiKey:
        """Raises Conflict when a key that is not revoked has the name."""
        values = {
            "name": name,
            "prefix": prefix,
            "secret_sha256": secret_sha256,
            "scope": scope.value,
            "expires_at": expires_at,
            "requests_per_minute": requests_per_minute,
        }
        try:
            with transaction(self._engine) as connection:
                new = insert(ApiKeyRow).values(**values).returning(ApiKeyRow.__table__)
                return _key(connection.execute(new).one())
        except IntegrityError as exc:
            if isinstance(exc.orig, UniqueViolation):
                raise Conflict(
                    f"There is a key named {name!r} already. Revoke it first, or choose another name."
                ) from exc
            raise

    def find(self, prefix: str) -> ApiKey | None:
        """By its first part, revoked and expired ones too."""
        with single_statement(self._engine) as connection:
            query = select(ApiKeyRow.__table__).where(ApiKeyRow.prefix == prefix)
            row = connection.execute(query).one_or_none()
            return _key(row) if row is not None else None

    def keys(self) -> list[ApiKey]:
        """Newest first."""
        with transaction(self._engine) as connection:
            query = select(ApiKeyRow.__table__).order_by(ApiKeyRow.id.desc())
            return [_key(row) for row in connection.execute(query)]

    def revoke(self, name_or_prefix: str) -> ApiKey:
        """Raises NotFound when there is none that is not revoked."""
        statement = (
            update(ApiKeyRow)
            .where(
                or_(ApiKeyRow.name == name_or_prefix, ApiKeyRow.prefix == name_or_prefix),
                ApiKeyRow.revoked_at.is_(None),
            )
            .values(revoked_at=func.clock_timestamp())
            .returning(ApiKeyRow.__table__)
        )
        with transaction(self._engine) as connection:
            row = connection.execute(statement).one_or_none()
            if row is None:
                raise NotFound("key", name_or_prefix)
            return _key(row)

    def touch(self, key_id: int) -> None:
        """Note that it was used now; at most once a minute is written."""
        with single_statement(self._engine) as connection:
            connection.execute(
                update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(last_used_at=func.clock_timestamp())
            )

    def any_usable(self) -> bool:
        """Whether there is a key that is neither revoked nor expired."""
        query = select(ApiKeyRow.id).where(
            ApiKeyRow.revoked_at.is_(None),
            or_(ApiKeyRow.expires_at.is_(None), ApiKeyRow.expires_at > func.clock_timestamp()),
        )
        with single_statement(self._engine) as connection:
            return connection.execute(query.limit(1)).one_or_none() is not None


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(
        id=row.id,
        name=row.name,
        prefix=row.prefix,
        secret_sha256=row.secret_sha256,
        scope=Scope(row.scope),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
        requests_per_minute=row.requests_per_minute,
    )

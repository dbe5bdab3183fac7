"""What can be measured, and with what: ``lastbyte.ports.Catalogue`` on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Row, select, true, update
from sqlalchemy.dialects.postgresql import insert

from lastbyte.adapters.postgres import codec
from lastbyte.adapters.postgres.engine import single_statement, transaction
from lastbyte.adapters.postgres.models import ClientBuildRow, ClientRow, EndpointRow, ProfileRow
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.endpoint import Endpoint, EndpointKind, Origin
from lastbyte.domain.profile import Profile
from lastbyte.ports import SeenBuild


class PostgresCatalogue:
    """``lastbyte.ports.Catalogue``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def sync(self, endpoints: Sequence[Endpoint], profiles: Sequence[Profile], clients: Sequence[Client]) -> None:
        """Make the catalogue be these, in one transaction."""
        with transaction(self._engine) as connection:
            _replace(connection, EndpointRow, "id", [codec.endpoint_to_json(endpoint) for endpoint in endpoints])
            _replace(
                connection, ProfileRow, "name", [{"name": p.name, "spec": codec.profile_to_json(p)} for p in profiles]
            )
            _replace(
                connection,
                ClientRow,
                "id",
                [
                    {
                        "id": client.id,
                        "program": client.program,
                        "protocol": client.protocol.value,
                        "spec": codec.client_to_json(client),
                    }
                    for client in clients
                ],
            )

    def endpoints(self) -> list[Endpoint]:
        """In catalogue order."""
        query = select(EndpointRow.__table__).where(EndpointRow.active).order_by(EndpointRow.position, EndpointRow.id)
        with transaction(self._engine) as connection:
            return [endpoint_of(row) for row in connection.execute(query)]

    def profiles(self) -> list[Profile]:
        """In catalogue order."""
        query = select(ProfileRow.spec).where(ProfileRow.active).order_by(ProfileRow.position, ProfileRow.name)
        with transaction(self._engine) as connection:
            return [codec.profile_from_json(spec) for spec in connection.execute(query).scalars()]

    def clients(self) -> list[Client]:
        """In catalogue order."""
        query = select(ClientRow.spec).where(ClientRow.active).order_by(ClientRow.position)
        with transaction(self._engine) as connection:
            return [codec.client_from_json(spec) for spec in connection.execute(query).scalars()]

    def builds(self) -> list[SeenBuild]:
        """Oldest first."""
        query = select(ClientBuildRow.__table__).order_by(ClientBuildRow.id)
        with transaction(self._engine) as connection:
            return [
                SeenBuild(ClientBuild(row.program, row.path, row.version_text, row.sha256), row.first_seen_at)
                for row in connection.execute(query)
            ]

    def ping(self) -> None:
        """One round trip; raises StoreUnavailable."""
        with single_statement(self._engine) as connection:
            connection.execute(select(1))


def endpoint_of(row: Row[*tuple[Any, ...]]) -> Endpoint:
    """An endpoint from its row."""
    return Endpoint(
        id=row.id,
        provider=row.provider,
        url=row.url,
        size_label=row.size_label,
        kind=EndpointKind(row.kind),
        origin=Origin(row.origin),
        expected_bytes=row.expected_bytes,
        expected_sha256=row.expected_sha256,
        base_rtt_ms=row.base_rtt_ms,
    )


def _replace(
    connection: Connection,
    table: type[EndpointRow | ProfileRow | ClientRow],
    key: str,
    rows: Sequence[dict[str, Any]],
) -> None:
    """Insert or update ``rows`` in their order and switch the others off; none is deleted, campaigns refer to them.

    What people made or changed stays as it is.
    """
    key_column = getattr(table, key)
    names = [row[key] for row in rows]
    from_files = true() if issubclass(table, ClientRow) else ~table.own
    connection.execute(update(table).where(key_column.not_in(names), table.active, from_files).values(active=False))
    if not rows:
        return
    statement = insert(table).values([{**row, "position": place, "active": True} for place, row in enumerate(rows)])
    changed = {column: statement.excluded[column] for column in (*rows[0], "position", "active") if column != key}
    connection.execute(statement.on_conflict_do_update(index_elements=[key_column], set_=changed, where=from_files))

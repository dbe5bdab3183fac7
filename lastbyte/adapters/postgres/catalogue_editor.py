"""Changes of the catalogue by people: ``lastbyte.ports.CatalogueEditor`` on PostgreSQL."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Engine, Row, select, update
from sqlalchemy.dialects.postgresql import insert

from lastbyte.adapters.postgres import codec
from lastbyte.adapters.postgres.catalogue import endpoint_of
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import EndpointRow, ProfileRow
from lastbyte.domain.courtesy import BudgetChange
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import Conflict, NotFound
from lastbyte.domain.profile import Profile
from lastbyte.ports import EndpointEntry

OWN_POSITION = 1_000_000
"""After all that comes from files."""


class PostgresCatalogueEditor:
    """``lastbyte.ports.CatalogueEditor``. Methods raise StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def entries(self) -> list[EndpointEntry]:
        """Endpoints that can be measured, in catalogue order."""
        query = select(EndpointRow.__table__).where(EndpointRow.active).order_by(EndpointRow.position, EndpointRow.id)
        with transaction(self._engine) as connection:
            return [_entry(row) for row in connection.execute(query)]

    def entry(self, endpoint_id: str) -> EndpointEntry:
        """Raises NotFound."""
        query = select(EndpointRow.__table__).where(EndpointRow.active, EndpointRow.id == endpoint_id)
        with transaction(self._engine) as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise NotFound("endpoint", endpoint_id)
        return _entry(row)

    def add_endpoint(self, endpoint: Endpoint, budget: BudgetChange) -> None:
        """Raises Conflict when there is one of that id."""
        values = {**codec.endpoint_to_json(endpoint), **asdict(budget)}
        with transaction(self._engine) as connection:
            _add(connection, EndpointRow, "id", values, "endpoint")

    def change_endpoint(self, endpoint: Endpoint, budget: BudgetChange) -> None:
        """Raises NotFound."""
        with transaction(self._engine) as connection:
            values = {**codec.endpoint_to_json(endpoint), **asdict(budget)}
            _change(connection, EndpointRow, "id", values, "endpoint")

    def retire_endpoint(self, endpoint_id: str) -> None:
        """List it no more. Raises NotFound."""
        with transaction(self._engine) as connection:
            _change(connection, EndpointRow, "id", {"id": endpoint_id, "active": False}, "endpoint")

    def own_profiles(self) -> frozenset[str]:
        """Names of profiles that people made or changed."""
        with transaction(self._engine) as connection:
            return frozenset(connection.execute(select(ProfileRow.name).where(ProfileRow.own)).scalars())

    def add_profile(self, profile: Profile) -> None:
        """Raises Conflict when there is one of that name."""
        with transaction(self._engine) as connection:
            values = {"name": profile.name, "spec": codec.profile_to_json(profile)}
            _add(connection, ProfileRow, "name", values, "profile")

    def change_profile(self, profile: Profile) -> None:
        """Raises NotFound."""
        with transaction(self._engine) as connection:
            values = {"name": profile.name, "spec": codec.profile_to_json(profile)}
            _change(connection, ProfileRow, "name", values, "profile")

    def retire_profile(self, name: str) -> None:
        """List it no more. Raises NotFound."""
        with transaction(self._engine) as connection:
            _change(connection, ProfileRow, "name", {"name": name, "active": False}, "profile")


def _entry(row: Row[*tuple[Any, ...]]) -> EndpointEntry:
    budget = BudgetChange(row.requests_per_day, row.bytes_per_day, row.min_gap_s)
    return EndpointEntry(endpoint_of(row), row.own, budget)


def _add(
    connection: Connection, table: type[EndpointRow | ProfileRow], key: str, values: dict[str, Any], kind: str
) -> None:
    column = getattr(table, key)
    statement = insert(table).values({**values, "position": OWN_POSITION, "active": True, "own": True})
    changed = {name: statement.excluded[name] for name in (*values, "position", "active", "own") if name != key}
    # one that was retired comes back
    added = connection.execute(
        statement.on_conflict_do_update(index_elements=[column], set_=changed, where=~table.active).returning(column)
    ).one_or_none()
    if added is None:
        raise Conflict(f"There is a {kind} {values[key]} already; change it, or choose another {key}.")


def _change(
    connection: Connection, table: type[EndpointRow | ProfileRow], key: str, values: dict[str, Any], kind: str
) -> None:
    column = getattr(table, key)
    statement = update(table).where(column == values[key], table.active).values({**values, "own": True})
    if connection.execute(statement.returning(column)).one_or_none() is None:
        raise NotFound(kind, values[key])

"""Campaigns into capsules and back, row by row, so that no column can be forgotten.

What is local to one database (row numbers, leases) is replaced by places within the capsule. Everything else is
written as it is stored and stored as it is written.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import ARRAY, Connection, Engine, Float, Integer, RowMapping, Select, bindparam, insert, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import StatementError
from sqlalchemy.types import DateTime, TypeEngine, Uuid

from lastbyte.adapters.postgres import codec
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.import_store import add_catalogue, batches, build_id
from lastbyte.adapters.postgres.models import (
    ArtifactRow,
    Base,
    CampaignArmRow,
    CampaignRow,
    CellRow,
    ClientBuildRow,
    TrialRow,
)
from lastbyte.domain.campaign import CampaignState, CellState
from lastbyte.domain.client import ClientBuild
from lastbyte.domain.errors import Conflict, InvalidInput, NotFound
from lastbyte.domain.trial import FailureKind
from lastbyte.services import capsule as form
from lastbyte.services.capsule import Capsule, Member, json_line

_LOCAL: dict[type[Base], tuple[str, ...]] = {
    CampaignRow: (),
    CampaignArmRow: ("campaign_id",),
    CellRow: ("id", "campaign_id", "lease_owner", "lease_until", "build_ids"),
    ClientBuildRow: ("id",),
    TrialRow: ("id", "campaign_id", "cell_id", "client_build_id"),
    ArtifactRow: ("id", "trial_id", "location"),
}
"""Columns that mean something in one database only."""

_JSON_TYPES: tuple[tuple[type[TypeEngine[Any]], type | tuple[type, ...]], ...] = (
    (JSONB, dict),
    (ARRAY, list),
    (Float, (int, float)),
    (Integer, int),
)
"""SQL type -> what JSON must hold for it; text for all others."""

_STREAMED_ROWS = 1000
_OUTCOMES = frozenset({"ok", *(kind.value for kind in FailureKind)})
_OVER = (CampaignState.DONE.value, CampaignState.CANCELLED.value)


class PostgresCapsuleStore:
    """Writes and reads capsules. Raises StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine, artifacts: Path) -> None:
        """``artifacts``: folder for the artifacts of capsules that are read, named by their SHA-256."""
        self._engine = engine
        self._artifacts = artifacts

    def write(self, campaign_id: str, file: IO[bytes], written_by: str) -> str:
        """Write the campaign into ``file``; gives the digest. Raises NotFound, and Conflict while it is measured."""
        try:
            ident = UUID(campaign_id)
        except ValueError as exc:
            raise NotFound("campaign", campaign_id) from exc
        with transaction(self._engine) as connection:
            found = _rows(connection, select(CampaignRow.__table__).where(CampaignRow.id == ident))
            if not found:
                raise NotFound("campaign", campaign_id)
            campaign = _dump(CampaignRow, found[0])
            if campaign["state"] not in _OVER:
                raise Conflict(f"Campaign {campaign_id} is {campaign['state']}; wait until it is over, or cancel it.")
            source = campaign["source"]
            if source is not None and source.get("kind") == "capsule":
                campaign["source"] = source.get("original")
            return form.write_capsule(file, campaign, self._members(connection, ident), written_by)

    def store(self, capsule: Capsule, imported_at: datetime) -> bool:
        """Store a verified capsule, all of it or nothing; False when this very campaign is here already.

        Raises Conflict when another campaign has its id, and InvalidInput when a row of it can't be used.
        """
        campaign_id = capsule.contents.campaign_id
        added: list[Path] = []
        try:
            with transaction(self._engine) as connection:
                known = select(CampaignRow.id).where(CampaignRow.id == _uuid(campaign_id, capsule.name))
                if connection.execute(known).one_or_none() is None:
                    _Import(connection, capsule, self._artifacts, added).run(imported_at)
                    return True
        except StatementError as exc:
            _remove(added)
            reason = str(exc.orig).strip().splitlines()[0]
            raise InvalidInput(capsule.name, f"can't be stored, and nothing was: {reason}") from exc
        except BaseException:
            _remove(added)
            raise
        if not self._same(capsule):
            raise Conflict(f"Campaign {campaign_id} is here already, and differs from the one in {capsule.name}.")
        return False

    def _same(self, capsule: Capsule) -> bool:
        """Whether the campaign that is here came from this capsule, or would make the same one."""
        contents = capsule.contents
        with transaction(self._engine) as connection:
            query = select(CampaignRow.source).where(CampaignRow.id == UUID(contents.campaign_id))
            source = connection.execute(query).scalar_one_or_none() or {}
        if source.get("kind") == "capsule":
            return bool(source.get("digest") == contents.digest)
        with tempfile.TemporaryFile() as draft:
            return self.write(contents.campaign_id, draft, contents.written_by) == contents.digest

    def _members(self, connection: Connection, ident: UUID) -> Iterator[Member]:
        arms = select(CampaignArmRow.__table__).where(CampaignArmRow.campaign_id == ident)
        found = _rows(connection, arms.order_by(CampaignArmRow.position))
        yield Member(form.ARMS, [json_line(_dump(CampaignArmRow, row)) for row in found])
        query = select(CellRow.__table__).where(CellRow.campaign_id == ident)
        cells = _rows(connection, query.order_by(CellRow.position, CellRow.id))
        used = select(TrialRow.client_build_id).where(TrialRow.campaign_id == ident).distinct()
        build_ids = {value for value in connection.execute(used).scalars() if value is not None}
        build_ids |= {int(value) for cell in cells for value in (cell["build_ids"] or {}).values()}
        builds = _rows(
            connection,
            select(ClientBuildRow.__table__)
            .where(ClientBuildRow.id.in_(build_ids))
            .order_by(ClientBuildRow.program, ClientBuildRow.sha256, ClientBuildRow.version_sha256),
        )
        build_place = {build["id"]: place for place, build in enumerate(builds)}
        cell_place = {cell["id"]: place for place, cell in enumerate(cells)}
        yield Member(form.CELLS, [json_line(_dump_cell(cell, build_place)) for cell in cells])
        yield Member(form.BUILDS, [json_line(_dump_build(build)) for build in builds])
        yield Member(form.TRIALS, _trial_lines(connection, ident, cell_place, build_place))
        yield from self._artifact_members(connection, ident)

    def _artifact_members(self, connection: Connection, ident: UUID) -> Iterator[Member]:
        trial_ids = connection.execute(
            select(TrialRow.id).where(TrialRow.campaign_id == ident).order_by(TrialRow.id)
        ).scalars()
        place = {trial_id: number for number, trial_id in enumerate(trial_ids)}
        rows = _rows(
            connection,
            select(ArtifactRow.__table__)
            .join(TrialRow, TrialRow.id == ArtifactRow.trial_id)
            .where(TrialRow.campaign_id == ident)
            .order_by(ArtifactRow.trial_id, ArtifactRow.kind, ArtifactRow.id),
        )
        lines = [json_line({"trial": place[row["trial_id"]], **_dump(ArtifactRow, row)}) for row in rows]
        yield Member(form.ARTIFACTS, lines)
        for sha256, location in sorted({row["sha256"]: row["location"] for row in rows}.items()):
            yield Member(form.BLOBS + sha256, _file_chunks(self._artifacts / location))


class _Import:
    """One capsule on its way into one transaction."""

    def __init__(self, connection: Connection, capsule: Capsule, artifacts: Path, added: list[Path]) -> None:
        self._connection = connection
        self._capsule = capsule
        self._artifacts = artifacts
        self._added = added

    def run(self, imported_at: datetime) -> None:
        (place, row), *more = self._capsule.rows(form.CAMPAIGN)
        campaign = self._load(CampaignRow, row, place)
        if more or str(campaign["id"]) != self._capsule.contents.campaign_id:
            raise self._bad(place, "is not the campaign that the manifest names.")
        if campaign["state"] not in _OVER:
            raise self._bad(place, f"the campaign is {campaign['state']!r}, not over.")
        contents = self._capsule.contents
        campaign["source"] = {
            "kind": "capsule",
            "digest": contents.digest,
            "origin": codec.storable(self._capsule.name),
            "written_by": codec.storable(contents.written_by),
            "imported_at": imported_at.isoformat(),
            "original": campaign.get("source"),
        }
        ident = campaign["id"]
        arms = [self._load(CampaignArmRow, row, place) for place, row in self._capsule.rows(form.ARMS)]
        cells = list(self._capsule.rows(form.CELLS))
        if not arms or not cells:
            raise self._bad(form.CELLS, "the campaign has no cells or no clients.")
        add_catalogue(
            self._connection,
            [self._parsed(codec.endpoint_from_json, row.get("endpoint"), place) for place, row in cells],
            [self._parsed(codec.profile_from_json, row.get("profile"), place) for place, row in cells],
            [self._parsed(codec.client_from_json, arm["client"], form.ARMS) for arm in arms],
        )
        self._connection.execute(_insert(CampaignRow), campaign)
        self._connection.execute(_insert(CampaignArmRow), [{**arm, "campaign_id": ident} for arm in arms])
        builds = [self._build(row, place) for place, row in self._capsule.rows(form.BUILDS)]
        cell_ids = [self._cell(row, place, ident, builds) for place, row in cells]
        trials = (self._trial(row, place, ident, cell_ids, builds) for place, row in self._capsule.rows(form.TRIALS))
        for batch in batches(trials):
            self._connection.execute(_insert(TrialRow), batch)
        self._store_artifacts(ident)

    def _build(self, row: Mapping[str, Any], place: str) -> int:
        values = self._load(ClientBuildRow, row, place)
        try:
            build = ClientBuild(values["program"], values["path"], values["version_text"], values["sha256"])
        except KeyError as exc:
            raise self._bad(place, f"{exc.args[0]} is missing.") from exc
        return build_id(self._connection, build)

    def _cell(self, row: dict[str, Any], place: str, ident: UUID, builds: list[int]) -> int:
        row = dict(row)
        used = row.pop("builds", None)
        values = self._load(CellRow, row, place)
        if values.get("state") not in (CellState.DONE.value, CellState.CANCELLED.value):
            raise self._bad(place, f"the cell is {values.get('state')!r}, not over.")
        self._parsed(codec.cell_proof_from_json, values.get("proof"), place)
        if used is not None and not isinstance(used, dict):
            raise self._bad(place, "builds is not an object.")
        numbers = None if used is None else {k: self._at(builds, v, place, "build") for k, v in used.items()}
        values |= {"campaign_id": ident, "build_ids": numbers}
        return int(self._connection.execute(_insert(CellRow).returning(CellRow.id), values).scalar_one())

    def _trial(
        self, row: dict[str, Any], place: str, ident: UUID, cells: list[int], builds: list[int]
    ) -> dict[str, Any]:
        row = dict(row)
        cell, build = row.pop("cell", None), row.pop("build", None)
        values = self._load(TrialRow, row, place)
        if values.get("outcome") not in _OUTCOMES:
            raise self._bad(place, f"outcome {values.get('outcome')!r} is not known.")
        self._parsed(codec.link_proof_from_json, values.get("proof"), place)
        headers = values.get("headers")
        if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
            raise self._bad(place, "headers is not an object of text.")
        return {
            **values,
            "campaign_id": ident,
            "cell_id": self._at(cells, cell, place, "cell"),
            "client_build_id": None if build is None else self._at(builds, build, place, "build"),
        }

    def _store_artifacts(self, ident: UUID) -> None:
        rows = list(self._capsule.rows(form.ARTIFACTS))
        if not rows:
            return
        query = select(TrialRow.id).where(TrialRow.campaign_id == ident).order_by(TrialRow.id)
        trial_ids = list(self._connection.execute(query).scalars())
        for place, row in rows:
            trial = self._at(trial_ids, row.pop("trial", None), place, "trial")
            values = self._load(ArtifactRow, row, place)
            sha256 = values.get("sha256")
            if sha256 not in self._capsule.contents.artifacts:
                raise self._bad(place, "its bytes are not in the capsule.")
            self._connection.execute(_insert(ArtifactRow), {**values, "trial_id": trial, "location": sha256})
            self._unpack(str(sha256))

    def _unpack(self, sha256: str) -> None:
        target = self._artifacts / sha256
        if target.exists():
            return
        self._artifacts.mkdir(parents=True, exist_ok=True)
        self._added.append(target)
        with target.open("wb") as file:
            for chunk in self._capsule.artifact(sha256):
                file.write(chunk)

    def _load(self, table: type[Base], row: Mapping[str, Any], place: str) -> dict[str, Any]:
        columns = {c.name: c for c in table.__table__.columns if c.name not in _LOCAL[table]}
        unknown = sorted(set(row) - set(columns))
        if unknown:
            raise self._bad(place, f"holds {unknown[0]!r}, which this lastbyte does not know; update it.")
        values = {}
        for name, value in row.items():
            try:
                values[name] = _decoded(columns[name].type, value)
            except (TypeError, ValueError, OverflowError) as exc:
                raise self._bad(place, f"{name} can't be used: {exc}.") from exc
        return values

    def _parsed(self, parse: Callable[[Any], Any], value: object, place: str) -> Any:
        try:
            return parse(value)
        except ValidationError as exc:
            error = exc.errors()[0]
            where = ".".join(str(part) for part in error["loc"])
            raise self._bad(place, f"{where}: {error['msg']}") from exc
        except (KeyError, TypeError, AttributeError, ValueError) as exc:
            raise self._bad(place, f"can't be used: {exc!r}") from exc

    def _at(self, numbers: list[int], place_in: object, place: str, what: str) -> int:
        if isinstance(place_in, bool) or not isinstance(place_in, int) or not 0 <= place_in < len(numbers):
            raise self._bad(place, f"{what} {place_in!r} is not in the capsule.")
        return numbers[place_in]

    def _bad(self, place: str, reason: str) -> InvalidInput:
        return InvalidInput(f"{self._capsule.name}: {place}", f"{reason} Nothing was imported.")


def _rows(connection: Connection, query: Select[Any]) -> Sequence[RowMapping]:
    return connection.execute(query).mappings().all()


def _insert(table: type[Base]) -> Any:
    # None in these columns is SQL's NULL, not JSON's null
    nullable = [c.name for c in table.__table__.columns if isinstance(c.type, JSONB) and c.nullable]
    return insert(table).values({name: bindparam(name, type_=JSONB(none_as_null=True)) for name in nullable})


def _dump(table: type[Base], row: RowMapping) -> dict[str, Any]:
    return {c.name: _plain(row[c.name]) for c in table.__table__.columns if c.name not in _LOCAL[table]}


def _dump_cell(row: RowMapping, build_place: Mapping[int, int]) -> dict[str, Any]:
    used = row["build_ids"]
    places = None if used is None else {client: build_place[int(number)] for client, number in sorted(used.items())}
    return {**_dump(CellRow, row), "builds": places}


def _dump_build(row: RowMapping) -> dict[str, Any]:
    # where and when a database first saw a build is not of the campaign
    return {key: value for key, value in _dump(ClientBuildRow, row).items() if key != "first_seen_at"}


def _trial_lines(
    connection: Connection, ident: UUID, cells: Mapping[int, int], builds: Mapping[int, int]
) -> Iterator[bytes]:
    query = select(TrialRow.__table__).where(TrialRow.campaign_id == ident).order_by(TrialRow.id)
    for row in connection.execute(query.execution_options(yield_per=_STREAMED_ROWS)).mappings():
        build = row["client_build_id"]
        yield json_line(
            {
                "cell": cells[row["cell_id"]],
                "build": None if build is None else builds[build],
                **_dump(TrialRow, row),
            }
        )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, UUID) else value


def _decoded(kind: TypeEngine[Any], value: Any) -> Any:
    """A JSON value as a column of this type takes it; raises TypeError or ValueError."""
    if value is None:
        return None
    if isinstance(kind, DateTime):
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError("it has no time zone")
        return moment
    if isinstance(kind, Uuid):
        return UUID(value)
    wanted = next((json for sql, json in _JSON_TYPES if isinstance(kind, sql)), str)
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise TypeError(f"{value!r} is of the wrong type")
    if isinstance(value, int | float) and not math.isfinite(value):
        raise ValueError("it is not finite")
    return value


def _file_chunks(file: Path) -> Iterator[bytes]:
    try:
        with file.open("rb") as stream:
            while chunk := stream.read(1024 * 1024):
                yield chunk
    except OSError as exc:
        raise Conflict(f"The artifact {file} can't be read: {exc.strerror}.") from exc


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _uuid(ident: str, name: str) -> UUID:
    try:
        return UUID(ident)
    except ValueError as exc:
        raise InvalidInput(name, f"names a campaign {ident!r} that has no usable id.") from exc

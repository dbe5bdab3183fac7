"""Campaigns into capsules and back, row by row."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from sqlalchemy import Connection, Engine, RowMapping, Select, select
from sqlalchemy.exc import StatementError

from lastbyte.adapters.postgres.capsule_columns import dump
from lastbyte.adapters.postgres.capsule_import import OVER, CapsuleImport
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import (
    ArtifactRow,
    CampaignArmRow,
    CampaignRow,
    CellRow,
    ClientBuildRow,
    TrialRow,
)
from lastbyte.domain.errors import Conflict, InvalidInput, NotFound
from lastbyte.services import capsule as form
from lastbyte.services.capsule import Capsule, Member, json_line

_STREAMED_ROWS = 1000


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
            campaign = dump(CampaignRow, found[0])
            if campaign["state"] not in OVER:
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
                    CapsuleImport(connection, capsule, self._artifacts, added).run(imported_at)
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
        yield Member(form.ARMS, [json_line(dump(CampaignArmRow, row)) for row in found])
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
        lines = [json_line({"trial": place[row["trial_id"]], **dump(ArtifactRow, row)}) for row in rows]
        yield Member(form.ARTIFACTS, lines)
        for sha256, location in sorted({row["sha256"]: row["location"] for row in rows if row["location"]}.items()):
            yield Member(form.BLOBS + sha256, _file_chunks(self._artifacts / location))


def _rows(connection: Connection, query: Select[Any]) -> Sequence[RowMapping]:
    return connection.execute(query).mappings().all()


def _dump_cell(row: RowMapping, build_place: Mapping[int, int]) -> dict[str, Any]:
    used = row["build_ids"]
    places = None if used is None else {client: build_place[int(number)] for client, number in sorted(used.items())}
    return {**dump(CellRow, row), "builds": places}


def _dump_build(row: RowMapping) -> dict[str, Any]:
    # where and when a database first saw a build is not of the campaign
    return {key: value for key, value in dump(ClientBuildRow, row).items() if key != "first_seen_at"}


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
                **dump(TrialRow, row),
            }
        )


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

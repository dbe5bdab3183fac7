"""One capsule on its way into one transaction: each row checked, nothing committed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection, select

from lastbyte.adapters.postgres import codec, rollups
from lastbyte.adapters.postgres.capsule_columns import LOCAL, decoded, inserting
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
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.trial import FailureKind
from lastbyte.services import capsule as form
from lastbyte.services.capsule import Capsule

OVER = (CampaignState.DONE.value, CampaignState.CANCELLED.value)
"""States of campaigns that a capsule may hold."""

_CELL_OVER = (CellState.DONE.value, CellState.CANCELLED.value, CellState.QUARANTINED.value)
_OUTCOMES = frozenset({"ok", *(kind.value for kind in FailureKind)})


class CapsuleImport:
    """One capsule on its way into one transaction."""

    def __init__(self, connection: Connection, capsule: Capsule, artifacts: Path, added: list[Path]) -> None:
        self._connection = connection
        self._capsule = capsule
        self._artifacts = artifacts
        self._added = added

    def run(self, imported_at: datetime) -> None:
        """Store all of it; raises InvalidInput naming the line that can't be used."""
        (place, row), *more = self._capsule.rows(form.CAMPAIGN)
        campaign = self._load(CampaignRow, row, place)
        if more or str(campaign["id"]) != self._capsule.contents.campaign_id:
            raise self._bad(place, "is not the campaign that the manifest names.")
        if campaign["state"] not in OVER:
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
        self._connection.execute(inserting(CampaignRow), campaign)
        self._connection.execute(inserting(CampaignArmRow), [{**arm, "campaign_id": ident} for arm in arms])
        builds = [self._build(row, place) for place, row in self._capsule.rows(form.BUILDS)]
        cell_ids = [self._cell(row, place, ident, builds) for place, row in cells]
        trials = (self._trial(row, place, ident, cell_ids, builds) for place, row in self._capsule.rows(form.TRIALS))
        for batch in batches(trials):
            self._connection.execute(inserting(TrialRow), batch)
        twice = rollups.rebuild(self._connection, ident)
        if twice is not None:
            raise self._bad(form.TRIALS, f"round {twice[1]} of {twice[0]} is there twice in one cell.")
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
        if values.get("state") not in _CELL_OVER:
            raise self._bad(place, f"the cell is {values.get('state')!r}, not over.")
        self._parsed(codec.cell_proof_from_json, values.get("proof"), place)
        if used is not None and not isinstance(used, dict):
            raise self._bad(place, "builds is not an object.")
        numbers = None if used is None else {k: self._at(builds, v, place, "build") for k, v in used.items()}
        values |= {"campaign_id": ident, "build_ids": numbers}
        return int(self._connection.execute(inserting(CellRow).returning(CellRow.id), values).scalar_one())

    def _trial(
        self, row: dict[str, Any], place: str, ident: UUID, cells: list[int], builds: list[int]
    ) -> dict[str, Any]:
        row = dict(row)
        cell, build = row.pop("cell", None), row.pop("build", None)
        values = self._load(TrialRow, row, place)
        if values.get("outcome") not in _OUTCOMES:
            raise self._bad(place, f"outcome {values.get('outcome')!r} is not known.")
        self._parsed(codec.link_proof_from_json, values.get("proof"), place)
        self._parsed(codec.page_from_json, values.get("proof"), place)
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
            if values.get("dropped_reason"):
                self._connection.execute(inserting(ArtifactRow), {**values, "trial_id": trial, "location": ""})
                continue
            if sha256 not in self._capsule.contents.artifacts:
                raise self._bad(place, "its bytes are not in the capsule.")
            self._connection.execute(inserting(ArtifactRow), {**values, "trial_id": trial, "location": sha256})
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
        columns = {c.name: c for c in table.__table__.columns if c.name not in LOCAL[table]}
        unknown = sorted(set(row) - set(columns))
        if unknown:
            raise self._bad(place, f"holds {unknown[0]!r}, which this lastbyte does not know; update it.")
        values = {}
        for name, value in row.items():
            try:
                values[name] = decoded(columns[name].type, value)
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

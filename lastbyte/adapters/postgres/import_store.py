"""Imported results as a finished campaign: all in one transaction, or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine, bindparam, func, insert, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import DataError, IntegrityError

from lastbyte.adapters.postgres import codec, rollups
from lastbyte.adapters.postgres.bulk import copy_trials
from lastbyte.adapters.postgres.engine import transaction
from lastbyte.adapters.postgres.models import (
    CampaignArmRow,
    CampaignRow,
    CellRow,
    ClientBuildRow,
    ClientRow,
    EndpointRow,
    ProfileRow,
)
from lastbyte.domain.campaign import CampaignState, CellState
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import Trial
from lastbyte.services.imported import ImportedCell, ImportedResults

VANTAGE = "imported"
"""Vantage of what was measured elsewhere; no worker has this name."""

BATCH = 1000
T = TypeVar("T")


class PostgresImportStore:
    """Stores imported results. Raises StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def store(self, results: ImportedResults, name: str, source: Mapping[str, object]) -> str:
        """The results as a campaign that is done; gives its id. Raises InvalidInput when the database refuses them."""
        campaign_id = uuid4()
        try:
            with transaction(self._engine) as connection:
                _store(connection, campaign_id, results, name, source)
        except (IntegrityError, DataError) as exc:
            reason = str(exc.orig).strip().splitlines()[0]
            raise InvalidInput(results.origin, f"can't be stored, and nothing was: {reason}") from exc
        return str(campaign_id)


def add_catalogue(
    connection: Connection, endpoints: Iterable[Endpoint], profiles: Iterable[Profile], clients: Iterable[Client]
) -> None:
    """Rows that campaigns refer to, switched off, so that they are not offered for measuring; known ones stay."""
    rows: list[tuple[type[Any], list[dict[str, Any]]]] = [
        (EndpointRow, [{**codec.endpoint_to_json(item), "position": 0, "active": False} for item in endpoints]),
        (
            ProfileRow,
            [
                {"name": item.name, "spec": codec.profile_to_json(item), "position": 0, "active": False}
                for item in profiles
            ],
        ),
        (
            ClientRow,
            [
                {
                    "id": item.id,
                    "program": item.program,
                    "protocol": item.protocol.value,
                    "spec": codec.client_to_json(item),
                    "position": 0,
                    "active": False,
                }
                for item in clients
            ],
        ),
    ]
    for table, values in rows:
        for batch in batches(values):
            connection.execute(upsert(table).on_conflict_do_nothing(), batch)


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Lists of up to ``BATCH`` items."""
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch


def build_id(connection: Connection, build: ClientBuild) -> int:
    """Id of the build's row, made when there is none; the path of one that is there stays."""
    version_text = codec.storable(build.version_text) or ""
    values = {
        "program": build.program,
        "path": build.path,
        "version_text": version_text,
        "version_sha256": hashlib.sha256(version_text.encode()).hexdigest(),
        "sha256": build.sha256,
    }
    connection.execute(upsert(ClientBuildRow).on_conflict_do_nothing(), values)
    query = select(ClientBuildRow.id).where(
        ClientBuildRow.program == values["program"],
        ClientBuildRow.sha256 == values["sha256"],
        ClientBuildRow.version_sha256 == values["version_sha256"],
    )
    return int(connection.execute(query).scalar_one())


def _store(
    connection: Connection, campaign_id: UUID, results: ImportedResults, name: str, source: Mapping[str, object]
) -> None:
    endpoints = {cell.endpoint.id: cell.endpoint for cell in results.cells}
    profiles = {cell.profile.name: cell.profile for cell in results.cells}
    moments = [trial.observation.started_at for cell in results.cells for trial in cell.trials]
    add_catalogue(connection, endpoints.values(), profiles.values(), results.clients)
    connection.execute(
        insert(CampaignRow),
        {
            "id": campaign_id,
            "name": codec.storable(name),
            "state": CampaignState.DONE.value,
            "endpoint_ids": list(endpoints),
            "profile_names": list(profiles),
            "rounds": results.rounds or _rounds(results),
            "seed": results.seed,
            "vantage": VANTAGE,
            "timeout_s": 0.0,
            "started_at": min(moments),
            "finished_at": max(moments),
            "source": source_json(source),
        },
    )
    connection.execute(
        insert(CampaignArmRow),
        [
            {
                "campaign_id": campaign_id,
                "client_id": client.id,
                "position": position,
                "client": codec.client_to_json(client),
            }
            for position, client in enumerate(results.clients)
        ],
    )
    known: dict[ClientBuild, int] = {}
    builds = [_build_ids(connection, cell, known) for cell in results.cells]
    values = [
        _cell(campaign_id, place, cell, used)
        for place, (cell, used) in enumerate(zip(results.cells, builds, strict=True))
    ]
    cell_ids = connection.execute(_insert_cells(), values).scalars().all()
    copy_trials(
        connection,
        (
            _trial(campaign_id, cell_id, trial, used)
            for cell_id, cell, used in zip(cell_ids, results.cells, builds, strict=True)
            for trial in cell.trials
        ),
    )
    rollups.rebuild(connection, campaign_id)  # a round that is there twice was refused: all is stored in one month


def _insert_cells() -> Any:
    nullable = {name: bindparam(name, type_=JSONB(none_as_null=True)) for name in ("proof", "build_ids")}
    return (
        insert(CellRow).values(finished_at=func.now(), **nullable).returning(CellRow.id, sort_by_parameter_order=True)
    )


def _build_ids(connection: Connection, cell: ImportedCell, known: dict[ClientBuild, int]) -> dict[str, int]:
    """Client -> row of the build that ran in the cell; ``known`` are those that were looked up before."""
    used = cell.proof.builds if cell.proof else {}
    for build in used.values():
        if build not in known:
            known[build] = build_id(connection, build)
    return {client: known[build] for client, build in used.items()}


def _cell(campaign_id: UUID, position: int, cell: ImportedCell, builds: Mapping[str, int]) -> dict[str, Any]:
    return {
        "campaign_id": campaign_id,
        "endpoint_id": cell.endpoint.id,
        "profile_name": cell.profile.name,
        "vantage": VANTAGE,
        "position": position,
        "endpoint": codec.endpoint_to_json(cell.endpoint),
        "profile": codec.profile_to_json(cell.profile),
        "state": CellState.DONE.value,
        "trials_planned": len(cell.trials),
        "trials_done": len(cell.trials),
        "trials_failed": sum(not trial.observation.ok for trial in cell.trials),
        "proof": codec.cell_proof_to_json(cell.proof) if cell.proof else None,
        "build_ids": dict(builds) or None,
    }


def _trial(campaign_id: UUID, cell_id: int, trial: Trial, builds: Mapping[str, int]) -> dict[str, Any]:
    seen = trial.observation
    timings = seen.timings
    return {
        "campaign_id": campaign_id,
        "cell_id": cell_id,
        "client_build_id": builds.get(trial.client_id),
        "client_id": trial.client_id,
        "round_index": trial.round_index,
        "position": trial.position,
        "started_at": seen.started_at,
        "outcome": seen.failure.kind.value if seen.failure else "ok",
        "failure_detail": codec.storable(seen.failure.detail) if seen.failure else None,
        "handshake_s": timings.handshake_s if timings else None,
        "ttfb_s": timings.ttfb_s if timings else None,
        "ttlb_s": timings.ttlb_s if timings else None,
        "elapsed_s": seen.elapsed_s,
        "exit_code": seen.exit_code,
        "http_status": seen.http_status,
        "http_version": codec.storable(seen.http_version),
        "body_bytes": seen.body_bytes,
        "body_sha256": codec.storable(seen.body_sha256),
        "tls": codec.tls_to_json(seen.tls),
        "remote_address": codec.storable(seen.remote_address),
        "headers": codec.storable_map(seen.headers),
        "proof": codec.trial_proof_to_json(trial),
        "unproven_reason": codec.storable(trial.unproven_reason) or None,
    }


def source_json(values: Mapping[str, object]) -> dict[str, Any]:
    """Flat values as JSON; times become ISO text, text is made storable."""
    plain: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, datetime):
            plain[key] = value.isoformat()
        elif isinstance(value, (list, tuple)):
            plain[key] = [codec.storable(item) if isinstance(item, str) else item for item in value]
        else:
            plain[key] = codec.storable(value) if isinstance(value, str) else value
    return plain


def _rounds(results: ImportedResults) -> int:
    return max(1, *(trial.round_index for cell in results.cells for trial in cell.trials))

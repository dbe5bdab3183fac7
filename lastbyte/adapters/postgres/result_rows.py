"""Trials and cells read from their rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, select

from lastbyte.adapters.postgres import codec
from lastbyte.adapters.postgres.models import CellRow, ClientBuildRow, TrialRow
from lastbyte.domain.campaign import CellState
from lastbyte.domain.client import ClientBuild
from lastbyte.domain.trial import Failure, FailureKind, Observation, Timings, Trial
from lastbyte.ports import CellRecord, TrialRecord


def trial_rows() -> Select[Any]:
    """What ``trial_record`` needs of each trial."""
    return (
        select(
            TrialRow.__table__,
            CellRow.endpoint_id,
            CellRow.profile_name,
            ClientBuildRow.program.label("build_program"),
            ClientBuildRow.path.label("build_path"),
            ClientBuildRow.version_text.label("build_version_text"),
            ClientBuildRow.sha256.label("build_sha256"),
        )
        .join(CellRow, CellRow.id == TrialRow.cell_id)
        .outerjoin(ClientBuildRow, ClientBuildRow.id == TrialRow.client_build_id)
    )


def cell_record(row: Row[*tuple[Any, ...]]) -> CellRecord:
    """A cell as it was planned, with its proof."""
    return CellRecord(
        cell_id=row.id,
        endpoint=codec.endpoint_from_json(row.endpoint),
        profile=codec.profile_from_json(row.profile),
        state=CellState(row.state),
        proof=codec.cell_proof_from_json(row.proof),
        given_up=row.crash_reason or "" if row.state == CellState.QUARANTINED.value else "",
        version=row.version,
    )


def trial_record(row: Row[Any]) -> TrialRecord:
    """A trial with its build."""
    failed = row.outcome != "ok"
    observation = Observation(
        started_at=row.started_at,
        timings=None if failed else Timings(row.handshake_s, row.ttfb_s, row.ttlb_s),
        failure=Failure(FailureKind(row.outcome), row.failure_detail or "") if failed else None,
        exit_code=row.exit_code,
        http_status=row.http_status,
        http_version=row.http_version,
        body_bytes=row.body_bytes,
        body_sha256=row.body_sha256,
        tls=codec.tls_from_json(row.tls),
        remote_address=row.remote_address,
        elapsed_s=row.elapsed_s,
        headers=row.headers,
        page=codec.page_from_json(row.proof),
    )
    build = None
    if row.client_build_id is not None:
        build = ClientBuild(row.build_program, row.build_path, row.build_version_text, row.build_sha256)
    return TrialRecord(
        id=row.id,
        cell_id=row.cell_id,
        endpoint_id=row.endpoint_id,
        profile_name=row.profile_name,
        trial=Trial(
            row.round_index,
            row.client_id,
            row.position,
            observation,
            codec.link_proof_from_json(row.proof),
            row.unproven_reason or "",
        ),
        build=build,
    )

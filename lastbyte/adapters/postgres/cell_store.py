"""Where a worker reads its plan and stores what it measured: ``lastbyte.ports.CellStore`` on PostgreSQL.

Locks are always taken campaign first, then cell; leases are judged by the database's clock alone.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

from lastbyte.adapters.postgres import codec, courtesy, leases, quarantine, rollups
from lastbyte.adapters.postgres.artifact_store import store_artifacts
from lastbyte.adapters.postgres.engine import single_statement, transaction
from lastbyte.domain.campaign import CampaignSpec
from lastbyte.domain.capture import CapturePolicy
from lastbyte.domain.client import ClientBuild
from lastbyte.domain.courtesy import CourtesyBudget, Permission
from lastbyte.domain.trial import Trial
from lastbyte.ports import CellPlan, CellProof

_LONGEST_REASON = 500
"""Characters of an error's text that are kept with a cell."""

_LOCK_CAMPAIGN = text(
    "SELECT id, state FROM campaigns WHERE id = (SELECT campaign_id FROM cells WHERE id = :cell_id) FOR NO KEY UPDATE"
)

_CLAIM = text(f"""
    UPDATE cells
       SET state = 'running', lease_owner = :worker, waiting_for = NULL, not_before = NULL,
           lease_until = clock_timestamp() + make_interval(secs => :lease_s),
           started_at = coalesce(started_at, clock_timestamp()), progress_at = clock_timestamp()
     WHERE id = :cell_id
       AND (not_before IS NULL OR not_before <= clock_timestamp())
       AND (state = 'pending'
            OR (state = 'running' AND (lease_owner = :worker OR {leases.OVER})))
 RETURNING endpoint, profile
""")  # noqa: S608 - made of constants only

_START_CAMPAIGN = text("""
    UPDATE campaigns SET state = 'running', started_at = coalesce(started_at, clock_timestamp())
     WHERE id = :campaign_id AND state = 'queued'
""")

_EXTEND = text("""
    UPDATE cells SET lease_until = clock_timestamp() + make_interval(secs => :lease_s)
     WHERE id = :cell_id AND lease_owner = :worker AND state = 'running'
 RETURNING id
""")

_STORE_PROOF = text("""
    UPDATE cells SET proof = :proof, build_ids = :build_ids, version = version + 1
     WHERE id = :cell_id AND lease_owner = :worker AND state = 'running'
""").bindparams(bindparam("proof", type_=JSONB), bindparam("build_ids", type_=JSONB))

_UPSERT_BUILD = text("""
    INSERT INTO client_builds (program, path, version_text, version_sha256, sha256)
    VALUES (:program, :path, :version_text, :version_sha256, :sha256)
        ON CONFLICT (program, sha256, version_sha256) DO UPDATE SET path = excluded.path
 RETURNING id
""")

_STORE_TRIAL = text(f"""
    WITH held AS (
        SELECT id, campaign_id, host, (build_ids ->> :client_id)::bigint AS build_id
          FROM cells
         WHERE id = :cell_id AND lease_owner = :worker AND state = 'running'
           FOR NO KEY UPDATE
    ), fresh AS ({rollups.ADD_ONE}), inserted AS (
        INSERT INTO trials (
            campaign_id, cell_id, client_build_id, client_id, round_index, position, started_at, outcome,
            failure_detail, handshake_s, ttfb_s, ttlb_s, elapsed_s, exit_code, http_status, http_version,
            body_bytes, body_sha256, tls, remote_address, headers, proof, unproven_reason)
        SELECT campaign_id, id, build_id, :client_id, :round_index, :position, :started_at, :outcome,
               :failure_detail, :handshake_s, :ttfb_s, :ttlb_s, :elapsed_s, :exit_code, :http_status, :http_version,
               :body_bytes, :body_sha256, :tls, :remote_address, :headers, :proof, :unproven_reason
          FROM held CROSS JOIN fresh
        RETURNING cell_id, outcome
    ), counted AS (
        UPDATE cells
           SET trials_done = trials_done + 1, version = version + 1,
               trials_failed = trials_failed + (inserted.outcome <> 'ok')::int,
               busy_s = busy_s
                        + greatest(0, extract(epoch FROM clock_timestamp() - coalesce(progress_at, clock_timestamp()))),
               progress_at = clock_timestamp(), crashes = 0
          FROM inserted
         WHERE cells.id = inserted.cell_id
    ), used AS (
        UPDATE hosts SET bytes = bytes + :bytes_down, last_at = clock_timestamp()
          FROM held CROSS JOIN inserted
         WHERE hosts.host = held.host
    )
    SELECT EXISTS (SELECT FROM held)
""").bindparams(  # noqa: S608 - made of constants only
    bindparam("headers", type_=JSONB),
    bindparam("proof", type_=JSONB(none_as_null=True)),
    bindparam("tls", type_=JSONB(none_as_null=True)),
)

_FINISH_CELL = text("""
    UPDATE cells SET state = 'done', lease_owner = NULL, lease_until = NULL, finished_at = clock_timestamp(),
           rounds_saved = :rounds_saved,
           trials_saved = greatest(trials_planned - trials_done, 0)
     WHERE id = :cell_id AND lease_owner = :worker AND state = 'running'
 RETURNING id
""")

_FINISH_CAMPAIGN = text("""
    UPDATE campaigns SET state = 'done', finished_at = clock_timestamp()
     WHERE id = :campaign_id AND state IN ('running', 'paused')
       AND NOT EXISTS (SELECT FROM cells WHERE campaign_id = :campaign_id AND state IN ('pending', 'running'))
""")

_RELEASE = text("""
    UPDATE cells SET state = 'pending', lease_owner = NULL, lease_until = NULL,
           waiting_for = :reason, not_before = CAST(:not_before AS timestamptz)
     WHERE id = :cell_id AND lease_owner = :worker AND state = 'running'
""")


class PostgresCellStore:
    """``lastbyte.ports.CellStore``. Every method raises StoreUnavailable while the database can't be reached."""

    def __init__(self, engine: Engine, budget: CourtesyBudget | None = None) -> None:
        self._engine = engine
        self._budget = budget or CourtesyBudget()

    def claim(self, cell_id: int, worker: str, lease_s: float) -> CellPlan | None:
        """Take the cell; None when it is done, paused, cancelled, unknown or held by another living worker."""
        with transaction(self._engine) as connection:
            campaign = connection.execute(_LOCK_CAMPAIGN, {"cell_id": cell_id}).one_or_none()
            if campaign is None or campaign.state in ("paused", "done", "cancelled"):
                return None
            if quarantine.note_takeover(connection, cell_id, worker):
                connection.execute(_FINISH_CAMPAIGN, {"campaign_id": campaign.id})
                return None
            if not courtesy.host_is_free(connection, cell_id, self._budget):
                return None
            cell = connection.execute(_CLAIM, {"cell_id": cell_id, "worker": worker, "lease_s": lease_s}).one_or_none()
            if cell is None:
                return None
            connection.execute(_START_CAMPAIGN, {"campaign_id": campaign.id})
            return _plan(connection, cell_id, campaign.id, cell.endpoint, cell.profile)

    def extend_lease(self, cell_id: int, worker: str, lease_s: float) -> bool:
        """Keep the cell; False when it was lost to another worker or cancelled."""
        with single_statement(self._engine) as connection:
            parameters = {"cell_id": cell_id, "worker": worker, "lease_s": lease_s}
            return connection.execute(_EXTEND, parameters).one_or_none() is not None

    def store_proof(self, cell_id: int, worker: str, proof: CellProof) -> None:
        """Store or replace the proof of the cell; nothing happens when the cell was lost or cancelled."""
        with transaction(self._engine) as connection:
            build_ids = {client: _build_id(connection, build) for client, build in sorted(proof.builds.items())}
            connection.execute(
                _STORE_PROOF,
                {
                    "cell_id": cell_id,
                    "worker": worker,
                    "proof": codec.cell_proof_to_json(proof),
                    "build_ids": build_ids,
                },
            )

    def store_trial(self, cell_id: int, worker: str, trial: Trial) -> bool:
        """Store a trial once, and count it, in one statement, its artifacts in the same transaction.

        False when the cell was cancelled or lost.
        """
        parameters = _trial_parameters(cell_id, worker, trial)
        if not trial.artifacts:
            with single_statement(self._engine) as connection:
                return bool(connection.execute(_STORE_TRIAL, parameters).scalar_one())
        with transaction(self._engine) as connection:
            held = bool(connection.execute(_STORE_TRIAL, parameters).scalar_one())
            if held:
                store_artifacts(connection, cell_id, trial.round_index, trial.client_id, trial.artifacts)
            return held

    def reserve_request(self, cell_id: int, worker: str) -> Permission:
        """Ask before each fetch from a host that is not ours; what is granted is counted at once."""
        with transaction(self._engine) as connection:
            return courtesy.reserve(connection, cell_id, worker, self._budget)

    def finish(self, cell_id: int, worker: str, rounds_saved: int = 0) -> None:
        """Mark the cell done, and its campaign when it was the last one; nothing when the cell was lost."""
        with transaction(self._engine) as connection:
            # The campaign's lock makes one of two workers that finish the last two cells see the other's cell done.
            campaign = connection.execute(_LOCK_CAMPAIGN, {"cell_id": cell_id}).one_or_none()
            if campaign is None:
                return
            parameters = {"cell_id": cell_id, "worker": worker, "rounds_saved": rounds_saved}
            if connection.execute(_FINISH_CELL, parameters).one_or_none() is not None:
                connection.execute(_FINISH_CAMPAIGN, {"campaign_id": campaign.id})

    def release(self, cell_id: int, worker: str, reason: str = "", not_before: datetime | None = None) -> None:
        """Hand the cell back unfinished, for any worker to take at once or from ``not_before`` on."""
        with single_statement(self._engine) as connection:
            connection.execute(
                _RELEASE,
                {"cell_id": cell_id, "worker": worker, "reason": reason or None, "not_before": not_before},
            )

    def note_crash(self, cell_id: int, reason: str) -> None:
        """Count an unexpected error after which the cell was handed back; the third in a row is its last."""
        with transaction(self._engine) as connection:
            campaign = connection.execute(_LOCK_CAMPAIGN, {"cell_id": cell_id}).one_or_none()
            reason = (codec.storable(reason) or "")[:_LONGEST_REASON]
            if campaign is not None and quarantine.note_failure(connection, cell_id, reason):
                connection.execute(_FINISH_CAMPAIGN, {"campaign_id": campaign.id})


def _plan(connection: Connection, cell_id: int, campaign_id: UUID, endpoint: Any, profile: Any) -> CellPlan:
    campaign = connection.execute(
        text(
            "SELECT seed, rounds, max_rounds, target_width_pct, equivalence_pct, timeout_s, capture"
            " FROM campaigns WHERE id = :id"
        ),
        {"id": campaign_id},
    ).one()
    spec = CampaignSpec(
        "",
        (),
        (),
        (),
        campaign.rounds,
        campaign.seed,
        max_rounds=campaign.max_rounds,
        target_width_pct=campaign.target_width_pct,
        equivalence_pct=campaign.equivalence_pct,
    )
    arms = connection.execute(
        text("SELECT client FROM campaign_arms WHERE campaign_id = :id ORDER BY position"), {"id": campaign_id}
    ).scalars()
    stored = rollups.of_cells(connection, [cell_id])
    return CellPlan(
        cell_id=cell_id,
        campaign_id=str(campaign_id),
        seed=campaign.seed,
        rounds=spec.most_rounds,
        endpoint=codec.endpoint_from_json(endpoint),
        profile=codec.profile_from_json(profile),
        clients=tuple(codec.client_from_json(arm) for arm in arms),
        done=frozenset((outcome.round_index, outcome.client_id) for outcome in stored),
        timeout_s=campaign.timeout_s,
        stopping=spec.stopping,
        stored=tuple(outcome for outcome in stored if outcome.round_index >= 1),
        capture=CapturePolicy(campaign.capture),
    )


def _build_id(connection: Connection, build: ClientBuild) -> int:
    version_text = codec.storable(build.version_text) or ""
    return int(
        connection.execute(
            _UPSERT_BUILD,
            {
                "program": build.program,
                "path": build.path,
                "version_text": version_text,
                "version_sha256": hashlib.sha256(version_text.encode()).hexdigest(),
                "sha256": build.sha256,
            },
        ).scalar_one()
    )


def _trial_parameters(cell_id: int, worker: str, trial: Trial) -> dict[str, object]:
    seen = trial.observation
    timings = seen.timings
    return {
        "cell_id": cell_id,
        "worker": worker,
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
        "body_sha256": seen.body_sha256,
        "tls": codec.tls_to_json(seen.tls),
        "body": (seen.body_sha256 or "")[: rollups.BODY_DIGITS],
        "tls_line": seen.tls.summary if seen.tls else "",
        "remote_address": codec.storable(seen.remote_address),
        "headers": codec.storable_map(seen.headers),
        "proof": codec.trial_proof_to_json(trial),
        "bytes_down": (trial.proof.downlink.sent_bytes if trial.proof else seen.body_bytes) or 0,
        "unproven_reason": codec.storable(trial.unproven_reason) or None,
    }

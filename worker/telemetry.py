"""What a worker tells of its trials: log lines with their ids, and figures for Prometheus."""

from __future__ import annotations

import structlog
from prometheus_client import Counter, Gauge, Histogram, start_http_server

from lastbyte.domain.trial import Trial
from lastbyte.ports import CellPlan
from lastbyte.settings import Settings
from worker.durable_store import DurableCellStore

TRIALS = Counter("lastbyte_trials", "Trials stored by this process.", ["client", "outcome"])
UNPROVEN = Counter("lastbyte_trials_unproven", "Trials kept out of comparisons: link or machine out of tolerance.")
TRIAL_S = Histogram(
    "lastbyte_trial_seconds",
    "Wall time of a trial's client.",
    ["client"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
CELLS = Counter("lastbyte_cells_claimed", "Cells that this process took.")
BUSY = Gauge("lastbyte_worker_measuring", "1 while a cell is measured.")
PATH_UP = Gauge("lastbyte_path_up", "1 while the last look at path and clients found nothing that lacks.")

log = structlog.get_logger()


def serve(config: Settings) -> None:
    """Answer /metrics on the worker's port; without one nothing listens."""
    PATH_UP.set(1)
    if config.worker_metrics_port:
        start_http_server(config.worker_metrics_port, addr=config.worker_metrics_host)
        log.info("metrics are served", port=config.worker_metrics_port, host=config.worker_metrics_host)


class ObservedCellStore(DurableCellStore):
    """Says what was claimed and stored."""

    def claim(self, cell_id: int, worker: str, lease_s: float) -> CellPlan | None:
        """As CellStore.claim; its ids stand in all log lines until the next claim."""
        structlog.contextvars.clear_contextvars()
        plan = super().claim(cell_id, worker, lease_s)
        if plan is not None:
            structlog.contextvars.bind_contextvars(campaign_id=plan.campaign_id, cell_id=cell_id)
            CELLS.inc()
            BUSY.set(1)
            log.info("cell claimed", endpoint=plan.endpoint.id, profile=plan.profile.name)
        return plan

    def store_trial(self, cell_id: int, worker: str, trial: Trial) -> bool:
        """As CellStore.store_trial."""
        kept = super().store_trial(cell_id, worker, trial)
        seen = trial.observation
        outcome = seen.failure.kind.value if seen.failure else "ok"
        TRIALS.labels(trial.client_id, outcome).inc()
        TRIAL_S.labels(trial.client_id).observe(seen.elapsed_s)
        if trial.unproven_reason:
            UNPROVEN.inc()
        log.info(
            "trial stored",
            trial=f"{cell_id}/{trial.round_index}/{trial.client_id}",
            outcome=outcome,
            elapsed_s=round(seen.elapsed_s, 3),
        )
        return kept

    def finish(self, cell_id: int, worker: str, rounds_saved: int = 0) -> None:
        """As CellStore.finish."""
        super().finish(cell_id, worker, rounds_saved)
        BUSY.set(0)

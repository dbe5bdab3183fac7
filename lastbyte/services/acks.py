"""Acknowledged bytes over time of watched trials: one trial, or H2 and H3 of a cell together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lastbyte.domain.acks import AckTrace, TraceProblem, TraceUnreadable
from lastbyte.domain.capture import Artifact, ArtifactKind, kept
from lastbyte.domain.errors import Gone
from lastbyte.ports import ArtifactFilter, ArtifactReader, ArtifactRecord, ArtifactStore, TraceFiles, WatchedTrial
from lastbyte.stats.acks import AckFigures, figures

MAX_ARTIFACTS = 200
"""Of one cell: three rounds of ten clients leave 90."""
_KEPT_TRACES = 32


@dataclass(frozen=True, slots=True)
class TrialAcks:
    """A watched trial with what its client acknowledged, or why that can't be told."""

    trial: WatchedTrial
    artifacts: tuple[ArtifactRecord, ...]
    trace: AckTrace | None
    figures: AckFigures | None
    problem: TraceUnreadable | None


class Acks:
    """Reads the files of watched trials; what was read is kept, since files never change."""

    def __init__(self, store: ArtifactStore, files: ArtifactReader, read: Callable[[TraceFiles], AckTrace]) -> None:
        self._store = store

        @lru_cache(maxsize=_KEPT_TRACES)
        def trace_of(vantage: str, pcap: Artifact | None, key_log: Artifact | None, qlog: Artifact | None) -> AckTrace:
            content = [None if item is None else files.content(item, vantage) for item in (pcap, key_log, qlog)]
            return read(TraceFiles(*content))

        self._trace_of = trace_of

    def of_trial(self, trial_id: int, stall_ms: float | None = None) -> TrialAcks:
        """Raises NotFound for an unknown trial; one that was not watched has a problem in place of its trace."""
        trial = self._store.trial(trial_id)
        page = self._store.page(ArtifactFilter(trial_id=trial_id), MAX_ARTIFACTS, None)
        return self._of(trial, page.items, stall_ms)

    def of_cell(self, cell_id: int, stall_ms: float | None = None) -> list[TrialAcks]:
        """Every watched trial of a cell, in the order of rounds and clients; empty when none was watched."""
        page = self._store.page(ArtifactFilter(cell_id=cell_id), MAX_ARTIFACTS, None)
        return [
            self._of(trial, [item for item in page.items if item.trial_id == trial.id], stall_ms)
            for trial in self._store.watched_trials(cell_id)
        ]

    def _of(self, trial: WatchedTrial, artifacts: Sequence[ArtifactRecord], stall_ms: float | None) -> TrialAcks:
        left = [record.artifact for record in artifacts]
        try:
            kinds = (ArtifactKind.PCAP, ArtifactKind.KEYLOG, ArtifactKind.QLOG)
            vantage = artifacts[0].vantage if artifacts else ""
            trace = self._trace_of(vantage, *(kept(left, kind) for kind in kinds))
        except TraceUnreadable as exc:
            problem = exc
        except Gone as exc:
            problem = TraceUnreadable(TraceProblem.NOT_CAPTURED, str(exc))
        else:
            return TrialAcks(trial, tuple(artifacts), trace, figures(trace, stall_ms), None)
        return TrialAcks(trial, tuple(artifacts), None, None, _explained(problem, left))


def _explained(problem: TraceUnreadable, left: Sequence[Artifact]) -> TraceUnreadable:
    """With the reasons why files are missing, where some are."""
    reasons = dict.fromkeys(item.dropped_reason for item in left if item.dropped_reason)
    return TraceUnreadable(problem.kind, " ".join([problem.detail, *reasons])) if reasons else problem

"""Measure one URL here and now, without a database: the same runner and path as a campaign."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lastbyte.domain.capture import CapturePolicy
from lastbyte.domain.client import AA_SUFFIX, Client, Protocol, is_aa
from lastbyte.domain.courtesy import GRANTED, Permission
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import CENSORED, Trial
from lastbyte.ports import CellPlan, CellProof
from lastbyte.services.detail import Pairs, difference_p, paired_phases, pairs_of, phase_times
from lastbyte.services.measure_cell import Bench, CellRun
from lastbyte.stats.censored import compare_censored
from lastbyte.stats.floor import Floor, noise_floor, with_floor
from lastbyte.stats.paired import Comparison, Verdict, compare, paired_rounds
from lastbyte.stats.phases import Decomposition, PhaseTimes
from lastbyte.stats.tolerance import cell_out_of_tolerance, labels_of


@dataclass(frozen=True, slots=True)
class CellResult:
    """All of one profile's trials and what its link was."""

    profile: Profile
    clients: tuple[Client, ...]
    proof: CellProof
    trials: list[Trial] = field(default_factory=list)

    def counted(self, client_id: str) -> list[Trial]:
        """Trials of one arm in the counted rounds."""
        return [t for t in self.trials if t.client_id == client_id and t.is_counted]

    def ttlb_s(self, client_id: str) -> dict[int, float]:
        """TTLB in seconds by round, for the rounds in which the arm succeeded on a link and machine in tolerance."""
        return {
            t.round_index: t.observation.timings.ttlb_s
            for t in self.counted(client_id)
            if t.observation.timings is not None and not t.unproven_reason
        }

    def left_out(self, client_id: str | None = None) -> Counter[str]:
        """Why successful trials are kept out of comparisons, in a word or two, with how many; None: of all arms."""
        return Counter(
            label
            for t in self.trials
            if t.observation.ok and t.is_counted and client_id in (None, t.client_id)
            for label in labels_of(t.unproven_reason)
        )

    def _times_or_limits(self, client_id: str) -> dict[int, tuple[float, bool]]:
        """TTLB by round, or the limit of a trial that timed out."""
        found = {round_index: (time_s, False) for round_index, time_s in self.ttlb_s(client_id).items()}
        for t in self.counted(client_id):
            failure = t.observation.failure
            if failure and failure.kind in CENSORED and t.observation.elapsed_s > 0 and not t.unproven_reason:
                found[t.round_index] = (t.observation.elapsed_s, True)
        return found

    def median_ttlb_s(self, client_id: str) -> float | None:
        """Median TTLB in seconds; None when no round succeeded."""
        values = self.ttlb_s(client_id).values()
        return statistics.median(values) if values else None

    @property
    def unproven_reason(self) -> str:
        """Why the link can't be believed; empty when it was in tolerance."""
        rtt = self.proof.rtt
        return cell_out_of_tolerance(self.profile, rtt.requested_ms, rtt.samples_ms, rtt.lost, self.proof.link)

    def floor(self, client_id: str) -> Floor | None:
        """The noise floor from an arm that ran twice; None when it did not."""
        pairs = paired_rounds(self.ttlb_s(client_id), self.ttlb_s(f"{client_id}{AA_SUFFIX}"))
        return noise_floor(*pairs) if pairs[0] else None

    def against(self, baseline_id: str, candidate_id: str) -> Comparison:
        """Candidate against baseline; ``unproven`` when the link was out of tolerance."""
        pairs = self._pairs(baseline_id, candidate_id)
        result = (
            compare((), ())
            if pairs.nobody_came_through
            else compare_censored(
                pairs.baseline_s, pairs.candidate_s, pairs.baseline_timed_out, pairs.candidate_timed_out
            )
        )
        floor = self.floor(baseline_id)
        if floor is not None and not is_aa(candidate_id):
            result = with_floor(result, floor)
        if self.unproven_reason and result.verdict is not Verdict.NO_DATA:
            return replace(result, verdict=Verdict.UNPROVEN)
        return result

    def p_value(self, baseline_id: str, candidate_id: str) -> float | None:
        """Of the Wilcoxon signed-rank test (``lastbyte.services.detail``); imports SciPy."""
        return difference_p(self._pairs(baseline_id, candidate_id))

    def phases(self, baseline_id: str, candidate_id: str) -> Decomposition | None:
        """The difference phase by phase; None below two rounds of which both arms have phases."""
        return paired_phases(self._phases(baseline_id), self._phases(candidate_id))

    def _pairs(self, baseline_id: str, candidate_id: str) -> Pairs:
        return pairs_of(self._times_or_limits(baseline_id), self._times_or_limits(candidate_id))

    def _phases(self, client_id: str) -> dict[int, PhaseTimes]:
        timings = {t.round_index: t.observation.timings for t in self.counted(client_id) if not t.unproven_reason}
        found = ((n, phase_times(t.handshake_s, t.ttfb_s, t.ttlb_s)) for n, t in timings.items() if t is not None)
        return {n: phases for n, phases in found if phases is not None}


@dataclass(frozen=True, slots=True)
class OneShot:
    """What to measure."""

    endpoint: Endpoint
    profiles: tuple[Profile, ...]
    clients: tuple[Client, ...]
    rounds: int
    seed: int
    timeout_s: float = 60.0
    capture: CapturePolicy = CapturePolicy.NEVER

    @property
    def trials_planned(self) -> int:
        """Number of trials, the warm-up and capture rounds included."""
        return len(self.profiles) * len(self.clients) * (self.rounds + 1 + self.capture.rounds)


def measure(
    job: OneShot,
    bench: Bench,
    on_trial: Callable[[Profile, Trial], None],
    ask: Callable[[], Permission] = lambda: GRANTED,
) -> list[CellResult]:
    """Run every profile's rounds; ``on_trial`` is called as each trial ends, ``ask`` before each request to a host that
    is not ours.

    Ends early, with what was measured, when ``bench.stop`` is set or ``ask`` refuses.
    """
    results = []
    for index, profile in enumerate(job.profiles):
        plan = CellPlan(
            cell_id=index,
            campaign_id="one-shot",
            seed=job.seed,
            rounds=job.rounds,
            endpoint=job.endpoint,
            profile=profile,
            clients=job.clients,
            timeout_s=job.timeout_s,
            capture=job.capture,
        )
        run = CellRun(plan, bench, ask)
        result = CellResult(profile, job.clients, run.prove())
        results.append(result)
        for trial in run.trials():
            result.trials.append(trial)
            on_trial(profile, trial)
        if bench.stop.is_set() or run.refused is not None:
            break
    return results


def baseline_of(clients: Sequence[Client]) -> Client:
    """The arm others are compared with: the first that speaks H2, else the first. Raises InvalidInput for none."""
    if not clients:
        raise InvalidInput("clients", "is empty.", "Name at least one.")
    return next((c for c in clients if c.protocol is Protocol.H2), clients[0])

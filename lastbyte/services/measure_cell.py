"""Measure one cell: its rounds, each arm once per round in seeded random order, warm-up first.

This is the same code for a Celery worker and for ``lastbyte measure``; they differ in where trials go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from lastbyte.domain.campaign import order_of_arms, seed_of_round
from lastbyte.domain.capture import capture_rounds
from lastbyte.domain.ceiling import Ceiling
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.courtesy import GRANTED, Permission
from lastbyte.domain.endpoint import Origin
from lastbyte.domain.errors import AddressRefused, ClientUnavailable, PathLost, ResolutionFailed
from lastbyte.domain.tls import TlsDetails
from lastbyte.domain.trial import Failure, FailureKind, LinkProof, Observation, Trial
from lastbyte.ports import ArtifactSink, CellPlan, CellProof, CellStore, ClientRunner, Outcome, Resolver, Target
from lastbyte.services.link import Link
from lastbyte.services.stopping import enough
from lastbyte.services.watched_trials import file_name, watch
from lastbyte.stats.tolerance import cell_out_of_tolerance, trial_out_of_tolerance


@dataclass(frozen=True, slots=True)
class Bench:
    """What a measurement needs at hand."""

    link: Link
    runner: ClientRunner
    resolver: Resolver
    stop: threading.Event
    """Set to end after the trial under way, which is then thrown away: it was cut short."""
    ceilings: Callable[[], Sequence[Ceiling]] = tuple
    """What is known of how fast clients are on this machine at most."""
    artifacts: ArtifactSink | None = None
    """Where watched trials leave their files; None: nothing is watched here."""
    tls_of_pcap: Callable[[bytes], TlsDetails | None] = lambda _pcap: None
    """What the hellos in a capture agreed on, for clients that don't say; None where they can't be read."""


def measure_cell(cell_id: int, worker: str, store: CellStore, bench: Bench, lease_s: float) -> bool:
    """Measure what is left of a cell and store each trial as it ends.

    True when the cell is done; False when it was not ours to take, was cancelled or handed back.
    Raises PathUnavailable or PathLost when this machine has no working path; the cell is handed back first.
    """
    plan = store.claim(cell_id, worker, lease_s)
    if plan is None:
        return False
    finished = False
    run = CellRun(plan, bench, partial(store.reserve_request, cell_id, worker))
    try:
        store.store_proof(cell_id, worker, run.prove())
        for trial in run.trials():
            if not store.store_trial(cell_id, worker, trial):
                return False
        finished = not bench.stop.is_set() and run.refused is None
        if finished:
            store.finish(cell_id, worker, run.rounds_saved)
    finally:
        if not finished:
            refused = run.refused or Permission(granted=False)
            store.release(cell_id, worker, refused.reason, refused.not_before)
    return finished


class CellRun:
    """The trials of one cell, as an iterator that does the measuring.

    ``ask`` is called before each fetch from a host that is not ours. There are no retries: a trial that failed is
    stored as it ended, and the next one is the next arm's.
    """

    def __init__(self, plan: CellPlan, bench: Bench, ask: Callable[[], Permission] = lambda: GRANTED) -> None:
        self._plan = plan
        self._bench = bench
        self._ask = ask
        self._outcomes = list(plan.stored)
        self.refused: Permission | None = None
        """Why the trials ended early; None when nobody refused one."""
        self.rounds_saved = 0
        """Rounds that were not needed, once the trials have ended."""
        self._target: Target | None = None
        self._unresolved = Failure(FailureKind.DNS, "")
        self._unproven = ""

    def prove(self) -> CellProof:
        """Resolve and pin the address, shape the link and probe it: what holds for all trials of the cell.

        An endpoint that does not resolve is not an error here: its trials become failures of kind ``dns``, or of kind
        ``not-allowed`` where its address may not be measured.
        """
        plan, bench = self._plan, self._bench
        try:
            self._target = bench.resolver.resolve(plan.endpoint)
        except ResolutionFailed as exc:
            kind = FailureKind.NOT_ALLOWED if isinstance(exc, AddressRefused) else FailureKind.DNS
            self._unresolved = Failure(kind, str(exc))
        rtt = bench.link.shape(plan.profile, plan.endpoint.base_rtt_ms)
        self._unproven = cell_out_of_tolerance(plan.profile, rtt.requested_ms, rtt.samples_ms, rtt.lost)
        target = self._target
        builds = {c.id: bench.runner.build_of(c) for c in plan.clients if self._is_installed(c)}
        return CellProof(
            box_kind=bench.link.box_kind,
            address=target.address if target else "",
            resolution_s=target.resolution_s if target else 0.0,
            rtt=rtt,
            link=bench.link.probed,
            commands={c.id: bench.runner.command_for(c, target, plan.timeout_s) for c in plan.clients if target},
            builds=builds,
            machine={
                **bench.link.machine(),
                "ca_file": _ca_file(target),
                "ceilings_mbit_s": _ceilings_of(builds, bench.ceilings()),
                "profile_warnings": list(plan.profile.warnings(plan.endpoint.base_rtt_ms or None)),
            },
        )

    def trials(self) -> Iterator[Trial]:
        """Run what is left, round by round, then the capture rounds.

        Ends early when ``stop`` is set or a fetch is refused; the counted rounds also when enough is known.
        """
        yield from self._counted_rounds()
        yield from self._capture_rounds()

    def _counted_rounds(self) -> Iterator[Trial]:
        plan = self._plan
        arms = {client.id: client for client in plan.clients}
        for round_index in range(plan.rounds + 1):
            order = order_of_arms(plan.seed, plan.endpoint.id, plan.profile.name, round_index, list(arms))
            for position, client_id in enumerate(order):
                if (round_index, client_id) in plan.done:
                    continue
                if not self._may_go_on(arms[client_id]):
                    return
                observation, proof = self._observe(arms[client_id], round_index)
                if self._bench.stop.is_set():
                    return
                reason = trial_out_of_tolerance(plan.profile, proof) if proof else ""
                trial = Trial(round_index, client_id, position, observation, proof, reason)
                self._remember(trial)
                yield trial
            if self._enough(round_index):
                self.rounds_saved = plan.rounds - round_index
                return

    def _capture_rounds(self) -> Iterator[Trial]:
        """Trials that are watched and never counted; none on a link that is out of tolerance."""
        plan, sink = self._plan, self._bench.artifacts
        if sink is None or self._unproven or self._target is None or self._bench.stop.is_set() or self.refused:
            return
        arms = {client.id: client for client in plan.clients}
        for round_index in capture_rounds(plan.capture):
            order = order_of_arms(plan.seed, plan.endpoint.id, plan.profile.name, round_index, list(arms))
            for position, client_id in enumerate(order):
                if (round_index, client_id) in plan.done:
                    continue
                if not self._may_go_on(arms[client_id]):
                    return
                name = file_name(plan.endpoint.id, plan.profile.name, client_id, f"capture{-round_index}")
                observe = partial(self._observe, round_index=round_index)
                (observation, proof), artifacts = watch(
                    arms[client_id], name, self._bench.link, sink, observe, self._bench.tls_of_pcap
                )
                if self._bench.stop.is_set():
                    return
                reason = trial_out_of_tolerance(plan.profile, proof) if proof else ""
                yield Trial(round_index, client_id, position, observation, proof, reason, artifacts)

    def _may_go_on(self, client: Client) -> bool:
        """False when told to stop or refused; waits for the minimum gap between fetches from one host. An arm with a
        memory makes two requests in one."""
        if self._bench.stop.is_set():
            return False
        if self._plan.endpoint.origin is Origin.TESTBED or self._target is None:
            return True
        wait_s = 0.0
        for _ in range(1 if client.memory is None else 2):
            permission = self._ask()
            if not permission.granted:
                self.refused = permission
                return False
            wait_s = max(wait_s, permission.wait_s)
        return not self._bench.stop.wait(wait_s)

    def _remember(self, trial: Trial) -> None:
        if self._plan.stopping is None or trial.is_warmup:
            return
        timings, failure = trial.observation.timings, trial.observation.failure
        self._outcomes.append(
            Outcome(
                self._plan.cell_id,
                trial.round_index,
                trial.client_id,
                failure.kind.value if failure else "ok",
                timings.ttlb_s if timings else None,
                trial.unproven_reason,
                trial.observation.body_bytes,
                trial.observation.elapsed_s,
            )
        )

    def _enough(self, round_index: int) -> bool:
        rule = self._plan.stopping
        if rule is None or not rule.min_rounds <= round_index < rule.max_rounds:
            return False
        so_far = [outcome for outcome in self._outcomes if 0 < outcome.round_index <= round_index]
        return enough(rule, self._plan.clients, so_far, round_index)

    def _observe(self, client: Client, round_index: int) -> tuple[Observation, LinkProof | None]:
        if self._target is None:
            return failed(self._unresolved.kind, self._unresolved.detail), None
        plan, link = self._plan, self._bench.link
        link.restore()
        observation: Observation | None = None
        try:
            prefix = link.begin_trial(seed_of_round(plan.seed, plan.endpoint.id, plan.profile.name, round_index))
            observation = self._bench.runner.run(client, self._target, prefix, plan.timeout_s)
            return observation, link.proof_since_last()
        except PathLost as exc:
            started_at = observation.started_at if observation else None
            return failed(FailureKind.PATH_LOST, str(exc), started_at), None
        except ClientUnavailable as exc:
            return failed(FailureKind.CLIENT_CRASH, str(exc)), None

    def _is_installed(self, client: Client) -> bool:
        try:
            self._bench.runner.build_of(client)
        except ClientUnavailable:
            return False
        return True


def _ceilings_of(builds: Mapping[str, ClientBuild], known: Sequence[Ceiling]) -> dict[str, float]:
    """Ceilings of these very builds, in Mbit/s; of a client that runs twice, under its own id only."""
    return {
        ceiling.client_id: ceiling.rate_mbit_s
        for ceiling in known
        if (build := builds.get(ceiling.client_id)) is not None and build.sha256 == ceiling.sha256
    }


def _ca_file(target: Target | None) -> str | None:
    """The CA bundle that every arm was given; None: each program's own default."""
    return str(target.ca_file) if target and target.ca_file else None


def failed(kind: FailureKind, detail: str, started_at: datetime | None = None) -> Observation:
    """An observation of a fetch that could not even be tried, or whose link died under it."""
    return Observation(
        started_at=started_at or datetime.now(UTC),
        timings=None,
        failure=Failure(kind, detail),
        exit_code=-1,
    )

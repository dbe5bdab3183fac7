"""When a cell has enough rounds: the stopping rule of ``lastbyte.stats.sequential`` on a cell's trials.

The decision is a pure function of the trials, so a worker that takes a cell over decides as the one before it would.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastbyte.domain.campaign import StoppingRule
from lastbyte.domain.client import Client, Protocol, is_aa
from lastbyte.domain.trial import CENSORED
from lastbyte.ports import Outcome
from lastbyte.stats.censored import paired_or_timed_out, ratio_bounds
from lastbyte.stats.sequential import Plan, StopReason, decide

LOOKS = 3


def plan_of(rule: StoppingRule) -> Plan:
    """The looks that a rule means: three, from the least to the most rounds, or two where there is no room."""
    return Plan(
        target_width_pct=rule.target_width_pct,
        equivalence_pct=rule.equivalence_pct,
        min_rounds=rule.min_rounds,
        max_rounds=rule.max_rounds,
        looks=min(LOOKS, rule.max_rounds - rule.min_rounds + 1),
    )


def confidence_of(rule: StoppingRule | None) -> float:
    """Nominal level of the intervals of cells that were measured by a rule."""
    return 0.95 if rule is None else plan_of(rule).interval_confidence


def enough(rule: StoppingRule, clients: Sequence[Client], outcomes: Sequence[Outcome], rounds_done: int) -> bool:
    """Whether a cell needs no more rounds, from the outcomes of its counted rounds 1 to ``rounds_done``.

    Every arm is compared with the baseline, the first that speaks H2; all comparisons must be known. The A/A arms are
    there to show the noise and have no say.
    """
    arms = [client for client in clients if not is_aa(client.id)]
    baseline = next((client for client in arms if client.protocol is Protocol.H2), arms[0])
    candidates = [client for client in arms if client is not baseline]
    if not candidates:
        return False
    plan = plan_of(rule)
    base = times_or_limits(outcomes, baseline.id)
    for candidate in candidates:
        low, high = ratio_bounds(*paired_or_timed_out(base, times_or_limits(outcomes, candidate.id)))
        decision = decide(low, plan, high, rounds_done)
        if not decision.stop or (decision.reason is StopReason.MAXIMUM and rounds_done < plan.max_rounds):
            return False
    return True


def counted_times(outcomes: Sequence[Outcome], client_id: str) -> dict[int, float]:
    """TTLB in seconds by round, of an arm's trials that count: successful, on a link and machine in tolerance."""
    return {
        o.round_index: o.ttlb_s
        for o in outcomes
        if o.client_id == client_id and o.ttlb_s and o.ttlb_s > 0 and not o.unproven_reason
    }


def times_or_limits(outcomes: Sequence[Outcome], client_id: str) -> dict[int, tuple[float, bool]]:
    """As ``counted_times``, with the trials that timed out too: (seconds, False), or (limit in seconds, True)."""
    found = {round_index: (time_s, False) for round_index, time_s in counted_times(outcomes, client_id).items()}
    for o in outcomes:
        if o.client_id == client_id and o.kind in CENSORED and o.elapsed_s > 0 and not o.unproven_reason:
            found[o.round_index] = (o.elapsed_s, True)
    return found

"""What a campaign will cost before it starts: trials, bytes, time, and the courtesy budgets of the hosts it touches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from lastbyte.domain.endpoint import Endpoint, Origin
from lastbyte.domain.profile import Profile
from lastbyte.ports import BudgetStore, CampaignPlan, CampaignStore, HostBudget

ROUND_TRIPS = 4.0
"""Handshake (one with H3, two with H2), request, and one or two in which slow start opens the window."""
UNSHAPED_MBIT_S = 100.0
"""What an unshaped link is taken to carry."""
TRIAL_OVERHEAD_S = 0.06
"""Starting a client, reading its output, storing the trial."""
CELL_OVERHEAD_S = 3.0
"""Shaping the link for a cell and probing it."""


@dataclass(frozen=True, slots=True)
class HostEstimate:
    """What a campaign asks of one host that is not ours."""

    budget: HostBudget
    requests: int
    bytes: int
    """Bodies only; endpoints of unknown size count as none."""
    days: int
    """UTC days over which its budget spreads the campaign: 1 when today's rest is enough."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost of a campaign; at most, where cells may stop early."""

    cells: int
    trials: int
    """With the warm-up rounds."""
    bytes: int
    """Bodies only; endpoints of unknown size count as none."""
    unknown_sizes: tuple[str, ...]
    """Endpoints whose size is not known."""
    seconds: float
    """Of one worker's time; waiting for budgets not counted."""
    measured_cells: int
    """Cells whose time is the mean of earlier campaigns rather than a guess from rate and round trips."""
    hosts: tuple[HostEstimate, ...]


class Estimates:
    """Estimates plans from what was measured before and what is left of today's budgets."""

    def __init__(self, campaigns: CampaignStore, budgets: BudgetStore) -> None:
        self._campaigns = campaigns
        self._budgets = budgets

    def of(self, plan: CampaignPlan) -> Estimate:
        """The cost of ``plan``; nothing is stored."""
        spec = plan.spec
        known = self._campaigns.seconds_per_trial(spec.endpoint_ids, spec.profile_names)
        repeats = spec.trials_per_cell
        pairs = [(endpoint, profile) for endpoint in plan.endpoints for profile in plan.profiles]
        foreign = {endpoint.host for endpoint in plan.endpoints if endpoint.origin is Origin.PRODUCTION}
        budgets = {found.host: found for found in self._budgets.budgets(sorted(foreign))} if foreign else {}
        seconds = 0.0
        for endpoint, profile in pairs:
            per_trial_s = known.get((endpoint.id, profile.name), trial_s(endpoint, profile))
            gap_s = budgets[endpoint.host].budget.min_gap_s if endpoint.host in budgets else 0.0
            seconds += CELL_OVERHEAD_S + repeats * (per_trial_s + gap_s)
        fetches = len(plan.profiles) * repeats
        return Estimate(
            cells=len(pairs),
            trials=len(pairs) * repeats,
            bytes=sum(endpoint.expected_bytes or 0 for endpoint in plan.endpoints) * fetches,
            unknown_sizes=tuple(e.id for e in plan.endpoints if e.expected_bytes is None),
            seconds=seconds,
            measured_cells=sum((endpoint.id, profile.name) in known for endpoint, profile in pairs),
            hosts=_hosts(plan, fetches, budgets),
        )


def trial_s(endpoint: Endpoint, profile: Profile) -> float:
    """A guess of how long one trial takes, in seconds, from rate and round trips; losses are not counted."""
    rtt_s = (endpoint.base_rtt_ms + profile.extra_rtt_ms) / 1000
    rate_mbit_s = profile.rate_mbit_s or UNSHAPED_MBIT_S
    return ROUND_TRIPS * rtt_s + 8e-6 * (endpoint.expected_bytes or 0) / rate_mbit_s + TRIAL_OVERHEAD_S


def _hosts(plan: CampaignPlan, fetches: int, budgets: Mapping[str, HostBudget]) -> tuple[HostEstimate, ...]:
    requests: dict[str, int] = defaultdict(int)
    sizes: dict[str, int] = defaultdict(int)
    for endpoint in plan.endpoints:
        if endpoint.host in budgets:
            requests[endpoint.host] += fetches
            sizes[endpoint.host] += fetches * (endpoint.expected_bytes or 0)
    return tuple(
        HostEstimate(budget, requests[host], sizes[host], _days(budget, requests[host], sizes[host]))
        for host, budget in sorted(budgets.items())
    )


def _days(found: HostBudget, requests: int, size: int) -> int:
    limits = (
        (requests - found.requests_left, found.budget.requests_per_day),
        (size - found.bytes_left, found.budget.bytes_per_day),
    )
    return 1 + max(math.ceil(max(0, over) / per_day) if per_day else 0 for over, per_day in limits)

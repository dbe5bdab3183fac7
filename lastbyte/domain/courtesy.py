"""How much of other people's servers may be used. Production endpoints only; the testbed is our own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CourtesyBudget:
    """Limits per host, over all workers and campaigns; besides, one connection at a time."""

    requests_per_day: int = 2000
    """Fetches per UTC day: about one in 43 seconds on average, less than one person's browser makes."""
    bytes_per_day: int = 5_000_000_000
    """Bytes that came down per UTC day. A fetch begins while less than this is used up, so it is overstepped by at
    most one object."""
    min_gap_s: float = 0.2
    """Pause between the end of one fetch and the start of the next, in seconds."""


@dataclass(frozen=True, slots=True)
class BudgetChange:
    """Where the budget for one endpoint differs from that of others; None: it does not.

    A host's use is counted over all its endpoints; a fetch of this one starts only while that is below these limits.
    """

    requests_per_day: int | None = None
    bytes_per_day: int | None = None
    min_gap_s: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return self == BudgetChange()

    def applied_to(self, budget: CourtesyBudget) -> CourtesyBudget:
        """``budget`` with what differs."""
        return CourtesyBudget(
            requests_per_day=budget.requests_per_day if self.requests_per_day is None else self.requests_per_day,
            bytes_per_day=budget.bytes_per_day if self.bytes_per_day is None else self.bytes_per_day,
            min_gap_s=budget.min_gap_s if self.min_gap_s is None else self.min_gap_s,
        )


@dataclass(frozen=True, slots=True)
class Permission:
    """Whether the next fetch from a host may start."""

    granted: bool
    wait_s: float = 0.0
    """Pause before the fetch, in seconds, for the minimum gap."""
    reason: str = ""
    """Why not; empty also when the cell is simply no longer ours."""
    not_before: datetime | None = None
    """When to ask again."""


GRANTED = Permission(granted=True)

"""What is left today of the courtesy towards hosts that are not ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lastbyte.domain.courtesy import CourtesyBudget


@dataclass(frozen=True, slots=True)
class HostBudget:
    """One host on the current UTC day."""

    host: str
    budget: CourtesyBudget
    requests_used: int
    bytes_used: int
    resets_at: datetime
    """The next midnight, UTC."""
    last_at: datetime | None = None
    """End of the last fetch."""

    @property
    def requests_left(self) -> int:
        """Fetches that may still start today."""
        return max(0, self.budget.requests_per_day - self.requests_used)

    @property
    def bytes_left(self) -> int:
        """Bytes that may still come down today."""
        return max(0, self.budget.bytes_per_day - self.bytes_used)


class BudgetStore(Protocol):
    """Use of hosts over all workers and campaigns."""

    def budgets(self, hosts: Sequence[str] | None = None) -> list[HostBudget]:
        """Of these hosts, used or not; None: of all that were ever used. By name."""

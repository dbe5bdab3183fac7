"""Estimates as JSON."""

from __future__ import annotations

from pydantic import Field

from api.schemas.budgets import BudgetOut
from api.schemas.common import Output
from lastbyte.services.estimate import Estimate, HostEstimate


class HostEstimateOut(Output):
    """What the campaign asks of one host that is not ours."""

    budget: BudgetOut
    requests: int
    bytes: int = Field(description="Bodies only; endpoints of unknown size count as none.")
    days: int = Field(description="UTC days over which the budget spreads it: 1 when today's rest is enough.")

    @classmethod
    def of(cls, item: HostEstimate) -> HostEstimateOut:
        """From the use case."""
        return cls(budget=BudgetOut.of(item.budget), requests=item.requests, bytes=item.bytes, days=item.days)


class EstimateOut(Output):
    """What a campaign would cost; at most, where cells may stop early."""

    cells: int
    trials: int = Field(description="The warm-up rounds included.")
    bytes: int = Field(description="Bodies only; endpoints of unknown size count as none.")
    unknown_sizes: list[str] = Field(description="Endpoints whose size is not known.")
    seconds: float = Field(description="Of one worker's time; waiting for budgets not counted.")
    hours: float = Field(description="The same in hours.")
    measured_cells: int = Field(description="Cells whose time comes from earlier campaigns; that of others is a guess.")
    hosts: list[HostEstimateOut] = Field(description="Hosts that are not ours, with their courtesy budgets.")

    @classmethod
    def of(cls, found: Estimate) -> EstimateOut:
        """From the use case."""
        return cls(
            cells=found.cells,
            trials=found.trials,
            bytes=found.bytes,
            unknown_sizes=list(found.unknown_sizes),
            seconds=found.seconds,
            hours=found.seconds / 3600,
            measured_cells=found.measured_cells,
            hosts=[HostEstimateOut.of(item) for item in found.hosts],
        )

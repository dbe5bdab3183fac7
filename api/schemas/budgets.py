"""Courtesy budgets as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from api.schemas.common import Output, Timestamp
from lastbyte.ports import EndpointEntry, HostBudget


class EndpointBudgetOut(Output):
    """An endpoint of the host with a budget of its own; the host's use counts against it."""

    endpoint: str
    requests_per_day: int
    requests_left: int
    bytes_per_day: int
    bytes_left: int
    min_gap_s: float

    @classmethod
    def of(cls, entry: EndpointEntry, found: HostBudget) -> EndpointBudgetOut:
        """From the catalogue and the host's use."""
        own = replace(found, budget=entry.budget.applied_to(found.budget))
        return cls(
            endpoint=entry.endpoint.id,
            requests_per_day=own.budget.requests_per_day,
            requests_left=own.requests_left,
            bytes_per_day=own.budget.bytes_per_day,
            bytes_left=own.bytes_left,
            min_gap_s=own.budget.min_gap_s,
        )


class BudgetOut(Output):
    """What may be asked of a host that is not ours, and what was asked of it today (UTC)."""

    host: str = Field(examples=["www.google.com"])
    requests_per_day: int
    requests_used: int
    requests_left: int
    bytes_per_day: int
    bytes_used: int
    bytes_left: int
    min_gap_s: float = Field(description="Pause between the end of one fetch and the start of the next.")
    resets_at: Timestamp = Field(description="The next midnight, UTC.")
    last_at: Timestamp | None = Field(description="End of the last fetch.")
    endpoints: list[EndpointBudgetOut] = Field(description="Its endpoints that have budgets of their own.")

    @classmethod
    def of(cls, found: HostBudget, endpoints: Sequence[EndpointBudgetOut] = ()) -> BudgetOut:
        """From the domain."""
        return cls(
            host=found.host,
            requests_per_day=found.budget.requests_per_day,
            requests_used=found.requests_used,
            requests_left=found.requests_left,
            bytes_per_day=found.budget.bytes_per_day,
            bytes_used=found.bytes_used,
            bytes_left=found.bytes_left,
            min_gap_s=found.budget.min_gap_s,
            resets_at=found.resets_at,
            last_at=found.last_at,
            endpoints=list(endpoints),
        )

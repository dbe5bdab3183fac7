"""Cells in their places, as JSON: what every answer that lists cells has in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field

from api.schemas.common import Output
from lastbyte.domain.campaign import CellState
from lastbyte.ports import CellRecord
from lastbyte.services.places import ProviderMap

T = TypeVar("T")
C = TypeVar("C", bound=BaseModel)


class PlacedOut(Output):
    """Where a cell belongs."""

    cell_id: int
    endpoint: str
    size_label: str
    profile: str
    loss_pct: float
    extra_rtt_ms: float
    rate_mbit_s: float | None
    state: CellState
    given_up: str | None = Field(default=None, description="Why it was put in quarantine; null when it was not.")


def place_fields(cell: CellRecord) -> dict[str, Any]:
    """The fields of `PlacedOut`."""
    endpoint, profile = cell.endpoint, cell.profile
    return {
        "cell_id": cell.cell_id,
        "endpoint": endpoint.id,
        "size_label": endpoint.size_label,
        "profile": profile.name,
        "loss_pct": profile.loss_pct,
        "extra_rtt_ms": profile.extra_rtt_ms,
        "rate_mbit_s": profile.rate_mbit_s,
        "state": cell.state,
        "given_up": cell.given_up or None,
    }


class ProviderOut(Output, Generic[C]):
    """The cells of one provider."""

    provider: str
    origin: Literal["production", "testbed"]
    base_rtt_ms: float
    cells: list[C]


def provider_out(provider: ProviderMap[T], cell_out: Callable[[T], C]) -> ProviderOut[C]:
    """From the domain."""
    return ProviderOut(
        provider=provider.provider,
        origin=provider.origin.value,
        base_rtt_ms=provider.base_rtt_ms,
        cells=[cell_out(item) for item in provider.cells],
    )

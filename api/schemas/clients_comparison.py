"""Comparisons of H3 clients as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.common import Input, Output
from lastbyte.domain.campaign import CampaignState, CellState
from lastbyte.services.client_comparison import ClientsComparison, ComparedCell, ComparedProvider
from lastbyte.stats.papermodes import Mode


class ClientsComparisonQuery(Input):
    """By which definition."""

    mode: Mode = Field(default="yu2020", description="yu2020: means, with a test; yu2021: medians, without.")


class ComparedClientOut(Output):
    """One client in one cell."""

    client: str
    n: int = Field(description="Successful trials, those left out not counted.")
    value_pct: float = Field(description="Percent over the best client of the cell; 0 for the best.")
    shown_pct: float = Field(description="The same, but 0 where yu2020's test has p >= 0.01.")
    p_value: float | None = Field(description="Of Welch's t-test against the best; null in yu2021 and where undefined.")


class ComparedCellOut(Output):
    """The H3 clients of one cell."""

    cell_id: int
    endpoint: str
    size_label: str
    profile: str
    loss_pct: float
    extra_rtt_ms: float
    rate_mbit_s: float | None
    state: CellState
    best: str | None
    clients: list[ComparedClientOut] = Field(description="In the campaign's order; those without a success left out.")
    unproven_reason: str | None

    @classmethod
    def of(cls, item: ComparedCell) -> ComparedCellOut:
        """From the domain."""
        endpoint, profile = item.cell.endpoint, item.cell.profile
        return cls(
            cell_id=item.cell.cell_id,
            endpoint=endpoint.id,
            size_label=endpoint.size_label,
            profile=profile.name,
            loss_pct=profile.loss_pct,
            extra_rtt_ms=profile.extra_rtt_ms,
            rate_mbit_s=profile.rate_mbit_s,
            state=item.cell.state,
            best=item.comparison.best,
            clients=[
                ComparedClientOut(
                    client=found.client,
                    n=item.n[found.client],
                    value_pct=found.value_pct,
                    shown_pct=found.shown_pct,
                    p_value=found.p_value,
                )
                for found in item.comparison.clients
            ],
            unproven_reason=item.unproven_reason,
        )


class ComparedProviderOut(Output):
    """The cells of one provider."""

    provider: str
    origin: Literal["production", "testbed"]
    base_rtt_ms: float
    cells: list[ComparedCellOut]

    @classmethod
    def of(cls, provider: ComparedProvider) -> ComparedProviderOut:
        """From the domain."""
        return cls(
            provider=provider.provider,
            origin=provider.origin.value,
            base_rtt_ms=provider.base_rtt_ms,
            cells=[ComparedCellOut.of(item) for item in provider.cells],
        )


class ClientsComparisonOut(Output):
    """The H3 clients of a campaign against the best one of each cell."""

    campaign_id: str
    state: CampaignState
    mode: Mode
    mode_note: str = Field(description="The definition, and what must be said beside it.")
    origin_note: str
    clients: list[str]
    limits_pct: tuple[float, float] = Field(description="Ends of the white-to-red colour scale.")
    providers: list[ComparedProviderOut]

    @classmethod
    def of(cls, comparison: ClientsComparison) -> ClientsComparisonOut:
        """From the domain."""
        return cls(
            campaign_id=comparison.campaign_id,
            state=comparison.state,
            mode=comparison.mode,
            mode_note=comparison.mode_note,
            origin_note=comparison.origin_note,
            clients=list(comparison.clients),
            limits_pct=comparison.limits_pct,
            providers=[ComparedProviderOut.of(provider) for provider in comparison.providers],
        )

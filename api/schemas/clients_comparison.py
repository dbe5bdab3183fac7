"""Comparisons of H3 clients as JSON."""

from __future__ import annotations

from pydantic import Field

from api.schemas.common import Input, Output
from api.schemas.places import PlacedOut, ProviderOut, place_fields, provider_out
from lastbyte.domain.campaign import CampaignState
from lastbyte.services.client_comparison import ClientsComparison, ComparedCell
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


class ComparedCellOut(PlacedOut):
    """The H3 clients of one cell."""

    best: str | None
    clients: list[ComparedClientOut] = Field(description="In the campaign's order; those without a success left out.")
    unproven_reason: str | None

    @classmethod
    def of(cls, item: ComparedCell) -> ComparedCellOut:
        """From the domain."""
        return cls(
            **place_fields(item.cell),
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


class ClientsComparisonOut(Output):
    """The H3 clients of a campaign against the best one of each cell."""

    campaign_id: str
    state: CampaignState
    mode: Mode
    mode_note: str = Field(description="The definition, and what must be said beside it.")
    origin_note: str
    clients: list[str]
    limits_pct: tuple[float, float] = Field(description="Ends of the white-to-red colour scale.")
    providers: list[ProviderOut[ComparedCellOut]]

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
            providers=[provider_out(provider, ComparedCellOut.of) for provider in comparison.providers],
        )

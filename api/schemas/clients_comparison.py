"""Comparisons of H3 clients as JSON."""

from __future__ import annotations

from pydantic import Field

from api.schemas.common import Input, Output
from api.schemas.places import PlacedOut, ProviderOut, place_fields, provider_out
from lastbyte.domain.campaign import CampaignState
from lastbyte.services.client_comparison import ClientsComparison, ComparedCell, ComparedClient
from lastbyte.services.paper import HeatmapMode


class ClientsComparisonQuery(Input):
    """By which definition."""

    mode: HeatmapMode = Field(
        default="yu2020",
        description="yu2020: means, with a test; yu2021: medians, without; lastbyte: the median of the paired rounds.",
    )


class ComparedClientOut(Output):
    """One client in one cell."""

    client: str
    n: int = Field(description="Successful trials, those left out not counted.")
    value_pct: float | None = Field(
        description="Percent over the best client of the cell; 0 for the best. Null, in `lastbyte` only, where "
        "time-outs leave it open."
    )
    shown_pct: float | None = Field(description="The same, but 0 where yu2020's test has p >= 0.01.")
    p_value: float | None = Field(
        description="Of Welch's t-test against the best in yu2020, of the Wilcoxon signed-rank test in lastbyte; null "
        "in yu2021, for the best and where undefined."
    )
    paired_n: int | None = Field(description="Rounds in which this client and the best both have a time.")
    paired_pct: float | None = Field(
        description="Median over those rounds of this client against the best one in the same round, in percent. In "
        "every mode; null for the best itself and where time-outs leave it open."
    )
    ci_low_pct: float | None = Field(description="Lower end of the 95 % interval of `paired_pct`; null where open.")
    ci_high_pct: float | None = Field(description="Upper end of it.")
    confidence: float | None = Field(description="What `paired_n` rounds can claim: less than 0.95 below six.")

    @classmethod
    def of(cls, item: ComparedClient) -> ComparedClientOut:
        """From the domain."""
        paired = item.paired
        return cls(
            client=item.client,
            n=item.n,
            value_pct=item.value_pct,
            shown_pct=item.shown_pct,
            p_value=item.p_value,
            paired_n=paired.n if paired else None,
            paired_pct=paired.diff_pct if paired else None,
            ci_low_pct=paired.ci_low_pct if paired else None,
            ci_high_pct=paired.ci_high_pct if paired else None,
            confidence=paired.confidence if paired else None,
        )


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
            best=item.best,
            clients=[ComparedClientOut.of(found) for found in item.clients],
            unproven_reason=item.unproven_reason,
        )


class ClientsComparisonOut(Output):
    """The H3 clients of a campaign against the best one of each cell."""

    campaign_id: str
    state: CampaignState
    mode: HeatmapMode
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

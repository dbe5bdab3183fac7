"""Heatmaps as JSON."""

from __future__ import annotations

from pydantic import Field

from api.schemas.common import Input, Name, Output
from api.schemas.places import ProviderOut, provider_out
from api.schemas.squares import CellOut
from lastbyte.domain.campaign import CampaignState
from lastbyte.services.heatmap import Heatmap
from lastbyte.services.paper import HeatmapMode


class HeatmapQuery(Input):
    """Which two clients are compared."""

    baseline: Name | None = Field(default=None, description="Default: the campaign's first H2 client.")
    candidate: Name | None = Field(default=None, description="Default: the campaign's first H3 client.")
    mode: HeatmapMode = Field(
        default="lastbyte",
        description="yu2020 and yu2021 add the squares of Yu and Benson's heatmaps, best H3 against best H2 client.",
    )


class HeatmapOut(Output):
    """All squares of a campaign for one pair of clients."""

    campaign_id: str
    state: CampaignState
    baseline: str
    candidate: str
    origin_note: str = Field(description="Where the origins are: stand-ins of the testbed, or the Internet.")
    providers: list[ProviderOut[CellOut]]
    mode: HeatmapMode
    mode_note: str | None = Field(description="What must be said beside the squares of a paper mode.")

    @classmethod
    def of(cls, heatmap: Heatmap) -> HeatmapOut:
        """From the domain."""
        return cls(
            campaign_id=heatmap.campaign_id,
            state=heatmap.state,
            baseline=heatmap.baseline,
            candidate=heatmap.candidate,
            origin_note=heatmap.origin_note,
            providers=[provider_out(provider, CellOut.of) for provider in heatmap.providers],
            mode=heatmap.mode,
            mode_note=heatmap.mode_note,
        )

"""Which campaigns are pooled, and pooled heatmaps and crossovers, as JSON."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from api.schemas.campaigns import Label
from api.schemas.common import EndpointName, Input, Moment, Name, Output, Timestamp
from api.schemas.squares import ComparisonOut, comparison_fields
from lastbyte.ports import CampaignFilter, CampaignRecord
from lastbyte.services.crossovers import CrossAxis, Crossovers, LineCrossover
from lastbyte.services.paper import HeatmapMode
from lastbyte.services.pool import MAX_CAMPAIGNS
from lastbyte.services.pooled_heatmap import Axis, Facet, FacetMap, PooledHeatmap, PooledSquare, Wanted
from lastbyte.stats.crossover import Crossing


class PoolQuery(Input):
    """Which campaigns: named ones, or those with labels or of a time."""

    campaign: list[UUID] = Field(
        default=[], max_length=MAX_CAMPAIGNS, description="Campaigns by id; instead of the filters below."
    )
    label: list[Label] = Field(default=[], max_length=20, description="Campaigns with each of these labels.")
    vantage: Name | None = Field(default=None, description="Campaigns measured from here.")
    created_from: Moment | None = Field(default=None, description="Created at or after this time (RFC 3339).")
    created_to: Moment | None = Field(default=None, description="Created before this time (RFC 3339).")
    baseline: Name | None = Field(default=None, description="Default: the first H2 client.")
    candidate: Name | None = Field(default=None, description="Default: the first H3 client.")

    def ids(self) -> list[str]:
        """The campaigns that are named."""
        return [str(ident) for ident in self.campaign]

    def to_filter(self) -> CampaignFilter | None:
        """The filter; None when nothing is filtered by."""
        found = CampaignFilter(
            labels=tuple(self.label),
            vantage=self.vantage,
            created_from=self.created_from,
            created_to=self.created_to,
        )
        return None if found == CampaignFilter() else found


class PooledHeatmapQuery(PoolQuery):
    """What is drawn, of which campaigns."""

    x: Axis = Field(default="profile", description="Columns.")
    y: Axis = Field(default="endpoint", description="Rows.")
    facet: Facet = Field(default="provider", description="One heatmap for each of these.")
    mode: HeatmapMode = Field(default="lastbyte", description="As in the heatmap of one campaign.")
    provider: list[Name] = Field(default=[], max_length=100, description="Only these providers.")
    endpoint: list[EndpointName] = Field(default=[], max_length=100, description="Only these endpoints.")
    profile: list[Name] = Field(default=[], max_length=100, description="Only these profiles.")

    def to_wanted(self) -> Wanted:
        """For the use case."""
        return Wanted(
            x=self.x,
            y=self.y,
            facet=self.facet,
            mode=self.mode,
            baseline=self.baseline,
            candidate=self.candidate,
            providers=tuple(self.provider),
            endpoints=tuple(self.endpoint),
            profiles=tuple(self.profile),
        )


class PooledCampaignOut(Output):
    """A campaign of the pool."""

    id: str
    name: str
    created_at: Timestamp
    labels: list[str]

    @classmethod
    def of(cls, campaign: CampaignRecord) -> PooledCampaignOut:
        """From the domain."""
        return cls(
            id=campaign.id, name=campaign.spec.name, created_at=campaign.created_at, labels=list(campaign.labels)
        )


class PooledSquareOut(ComparisonOut):
    """All cells at one place of the axes as one; those whose links can't be believed stay out."""

    x: float | str | None = Field(description="Null: no limit of the rate.")
    y: float | str | None
    cells: list[int] = Field(description="Ids of the cells.")
    unproven_cells: int = Field(description="Cells that stay out.")
    endpoints: list[str] = Field(description="More than one: different objects are pooled here.")
    profiles: list[str]

    @classmethod
    def of(cls, item: PooledSquare) -> PooledSquareOut:
        """From the use case."""
        return cls(
            **comparison_fields(item.comparison),
            x=item.x,
            y=item.y,
            cells=[cell.record.cell_id for cell in item.cells],
            unproven_cells=item.unproven_cells,
            endpoints=sorted({cell.record.endpoint.id for cell in item.cells}),
            profiles=sorted({cell.record.profile.name for cell in item.cells}),
        )


class FacetOut(Output):
    """One heatmap of several."""

    name: str = Field(description="Of the provider, client or vantage; empty without facets.")
    baseline: str
    candidate: str
    x_values: list[float | str | None] = Field(description="Columns in their order.")
    y_values: list[float | str | None] = Field(description="Rows in their order.")
    squares: list[PooledSquareOut]

    @classmethod
    def of(cls, facet: FacetMap) -> FacetOut:
        """From the use case."""
        return cls(
            name=facet.name,
            baseline=facet.baseline,
            candidate=facet.candidate,
            x_values=list(facet.xs),
            y_values=list(facet.ys),
            squares=[PooledSquareOut.of(item) for item in facet.squares],
        )


class PooledHeatmapOut(Output):
    """Heatmaps over the cells of several campaigns."""

    campaigns: list[PooledCampaignOut]
    x: Axis
    y: Axis
    facet: Facet
    mode: HeatmapMode
    mode_note: str | None = Field(description="What must be said beside the squares of a paper mode.")
    origin_note: str = Field(description="Where the origins are: stand-ins of the testbed, or the Internet.")
    facets: list[FacetOut]

    @classmethod
    def of(cls, found: PooledHeatmap) -> PooledHeatmapOut:
        """From the use case."""
        return cls(
            campaigns=[PooledCampaignOut.of(campaign) for campaign in found.campaigns],
            x=found.x,
            y=found.y,
            facet=found.facet,
            mode=found.mode,
            mode_note=found.mode_note,
            origin_note=found.origin_note,
            facets=[FacetOut.of(facet) for facet in found.facets],
        )


class CrossoverQuery(PoolQuery):
    """Along which axis, in which campaigns."""

    axis: CrossAxis = Field(default="loss", description="Along which H3 and H2 may cross.")


class LineOut(Output):
    """Cells that differ along the axis alone, and where H3 and H2 take the same time."""

    provider: str
    vantage: str
    base_rtt_ms: float
    loss_pct: float | None = Field(description="Null on the loss axis.")
    delay_ms: float | None = Field(description="Extra round-trip time; null on the delay axis.")
    rate_mbit_s: float | None = Field(description="Null on the rate axis, and without a limit.")
    size_label: str | None = Field(description="Null on the size axis.")
    xs: list[float] = Field(description="Places of the axis that were measured.")
    kind: Crossing
    x: float | None = Field(description="Where they cross; null unless kind is found.")
    ci_low: float | None
    ci_high: float | None
    h3_faster_below: bool | None = Field(description="Which side of x H3 wins; null unless kind is found.")
    agreement: float = Field(description="Share of the bootstrap's draws that say the same; a claim needs 0.9.")
    places: int = Field(description="Places with six pairs or more.")

    @classmethod
    def of(cls, item: LineCrossover) -> LineOut:
        """From the use case."""
        line, found = item.line, item.found
        return cls(
            provider=line.provider,
            vantage=line.vantage,
            base_rtt_ms=line.base_rtt_ms,
            loss_pct=line.loss_pct,
            delay_ms=line.delay_ms,
            rate_mbit_s=line.rate_mbit_s,
            size_label=line.size_label,
            xs=list(item.xs),
            kind=found.kind,
            x=found.x,
            ci_low=found.ci_low,
            ci_high=found.ci_high,
            h3_faster_below=found.h3_faster_below,
            agreement=found.agreement,
            places=found.places,
        )


class CrossoversOut(Output):
    """All lines along one axis."""

    campaigns: list[PooledCampaignOut]
    axis: CrossAxis
    unit: str
    baseline: str
    candidate: str
    lines: list[LineOut]

    @classmethod
    def of(cls, found: Crossovers) -> CrossoversOut:
        """From the use case."""
        return cls(
            campaigns=[PooledCampaignOut.of(campaign) for campaign in found.campaigns],
            axis=found.axis,
            unit=found.unit,
            baseline=found.baseline,
            candidate=found.candidate,
            lines=[LineOut.of(item) for item in found.lines],
        )

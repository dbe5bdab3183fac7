"""Trends and notes beside them, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from api.schemas.campaigns import Label
from api.schemas.common import EndpointName, Input, Moment, Name, Output, Timestamp
from lastbyte.ports import Annotation, TrendFilter
from lastbyte.services.trends import DatedChange, Point, Series, Trends

MANY_LINES = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"


class TrendQuery(Input):
    """Which series, over which time."""

    endpoint: list[EndpointName] = Field(min_length=1, max_length=20, description="Endpoints.")
    profile: list[Name] = Field(min_length=1, max_length=20, description="Profiles.")
    client: list[Name] = Field(default=[], max_length=20, description="Clients; none: all.")
    baseline: Name | None = Field(
        default=None, description="Differences are from this client; null: of each H3 client from its H2 client."
    )
    vantage: Name | None = Field(default=None, description="Only what was measured from here.")
    label: list[Label] = Field(default=[], max_length=20, description="Only campaigns with each of these labels.")
    measured_from: Moment | None = Field(default=None, description="Measured at or after this time (RFC 3339).")
    measured_to: Moment | None = Field(default=None, description="Measured before this time (RFC 3339).")

    def to_filter(self) -> TrendFilter:
        """For the store."""
        return TrendFilter(
            endpoint_ids=tuple(self.endpoint),
            profile_names=tuple(self.profile),
            vantage=self.vantage,
            labels=tuple(self.label),
            measured_from=self.measured_from,
            measured_to=self.measured_to,
        )


class PointOut(Output):
    """One cell of a series."""

    campaign_id: str
    campaign_name: str
    cell_id: int
    at: Timestamp
    n: int
    value: float = Field(description="Median, in the series' unit.")
    ci_low: float | None
    ci_high: float | None


class ChangeOut(Output):
    """A change of level."""

    at: Timestamp = Field(description="Of the first point on the new level.")
    campaign_id: str
    shift_pct: float | None = Field(description="New level against old; for differences, of the ratio H3/H2.")
    ci_low_pct: float | None
    ci_high_pct: float | None
    confidence: float

    @classmethod
    def of(cls, found: DatedChange) -> ChangeOut:
        """From the use case."""
        moved = found.change.shift
        return cls(
            at=found.at,
            campaign_id=found.campaign_id,
            shift_pct=moved.diff_pct,
            ci_low_pct=moved.ci_low_pct,
            ci_high_pct=moved.ci_high_pct,
            confidence=moved.confidence,
        )


class SeriesOut(Output):
    """Medians over time of a client, or of its differences from another."""

    endpoint: str
    profile: str
    vantage: str
    client: str
    baseline: str | None = Field(description="Null: times of client; else its differences from this one.")
    unit: Literal["ms", "%"]
    points: list[PointOut]
    changes: list[ChangeOut]
    unproven: int = Field(description="Cells left out, since their links can't be believed.")

    @classmethod
    def of(cls, series: Series) -> SeriesOut:
        """From the use case, in seconds or percent."""
        scale = 1000.0 if series.baseline_id is None else 1.0
        return cls(
            endpoint=series.endpoint_id,
            profile=series.profile_name,
            vantage=series.vantage,
            client=series.client_id,
            baseline=series.baseline_id,
            unit="ms" if series.baseline_id is None else "%",
            points=[_point(point, scale) for point in series.points],
            changes=[ChangeOut.of(change) for change in series.changes],
            unproven=series.unproven,
        )


class AnnotationOut(Output):
    """A note about a moment."""

    id: int
    at: Timestamp
    text: str
    endpoint: str | None = Field(description="Null: it concerns everything.")
    created_at: Timestamp

    @classmethod
    def of(cls, note: Annotation) -> AnnotationOut:
        """From the store."""
        return cls(id=note.id, at=note.at, text=note.text, endpoint=note.endpoint_id, created_at=note.created_at)


class AnnotationIn(Input):
    """A note to keep."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"at": "2026-03-01T03:15:00Z", "text": "curl 8.22 rolled out"}]},
    )

    at: Moment = Field(description="When it was (RFC 3339).")
    text: Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=MANY_LINES)]
    endpoint: EndpointName | None = Field(default=None, description="Which endpoint it concerns; null: everything.")


class AnnotationQuery(Input):
    """Notes of which time."""

    at_from: Moment | None = Field(default=None, description="At or after this time (RFC 3339).")
    at_to: Moment | None = Field(default=None, description="Before this time (RFC 3339).")


class TrendsOut(Output):
    """Series over time."""

    series: list[SeriesOut]
    annotations: list[AnnotationOut]
    cells: int = Field(description="Cells that were read.")
    truncated: bool = Field(description="There are older cells, which were not read; narrow the query.")

    @classmethod
    def of(cls, found: Trends) -> TrendsOut:
        """From the use case."""
        return cls(
            series=[SeriesOut.of(series) for series in found.series],
            annotations=[AnnotationOut.of(note) for note in found.annotations],
            cells=found.cells,
            truncated=found.truncated,
        )


def _point(point: Point, scale: float) -> PointOut:
    return PointOut(
        campaign_id=point.campaign_id,
        campaign_name=point.campaign_name,
        cell_id=point.cell_id,
        at=point.at,
        n=point.n,
        value=point.value * scale,
        ci_low=None if point.ci_low is None else point.ci_low * scale,
        ci_high=None if point.ci_high is None else point.ci_high * scale,
    )

"""Results over several campaigns: pooled heatmaps, comparisons, trends, crossovers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response, status

from api.container import Wired
from api.routes.problems import INVALID, NOT_FOUND, TOO_LARGE
from api.schemas.common import Page
from api.schemas.pool import CrossoverQuery, CrossoversOut, PooledHeatmapOut, PooledHeatmapQuery
from api.schemas.regression import CompareOut, CompareQuery
from api.schemas.trends import AnnotationIn, AnnotationOut, AnnotationQuery, TrendQuery, TrendsOut

router = APIRouter(tags=["analysis"])

AnnotationId = Annotated[int, Path(ge=0, lt=2**63)]


@router.get("/heatmap", responses={**NOT_FOUND, **INVALID})
def get_pooled_heatmap(query: Annotated[PooledHeatmapQuery, Query()], wired: Wired) -> PooledHeatmapOut:
    """Heatmaps over the cells of several campaigns, with axes and facets to choose.

    All cells at the same place become one square: their rounds are pooled, each pair within its own round. Cells whose
    links can't be believed stay out. A square with more than one of `endpoints` mixes different objects; filter by
    `endpoint` or put `size` on an axis where that matters.
    """
    return PooledHeatmapOut.of(wired.pooled_heatmaps.of(query.ids(), query.to_filter(), query.to_wanted()))


@router.get("/compare", responses={**NOT_FOUND, **INVALID})
def compare_campaigns(query: Annotated[CompareQuery, Query()], wired: Wired) -> CompareOut:
    """Has something become slower from one campaign to another? Made for CI: `exit_code` is 0, 1 or 2."""
    found = wired.campaign_comparisons.of(
        str(query.baseline), str(query.candidate), query.tolerance_pct, query.confidence
    )
    return CompareOut.of(found)


@router.get("/trends", response_model=TrendsOut, responses=INVALID)
def get_trends(query: Annotated[TrendQuery, Query()], wired: Wired) -> Response:
    """Medians over time per endpoint, profile, vantage and client, H3 against H2, and when their level changed."""
    cells = wired.trends.cells(query.to_filter())
    question = query.model_dump_json(exclude={"measured_from", "measured_to"})  # the revision knows of which time

    def work_out() -> bytes:
        return TrendsOut.of(wired.trends.drawn(cells, query.client, query.baseline)).model_dump_json().encode()

    answer = wired.trend_answers.of((question,), cells.revision(), work_out)
    return Response(answer, media_type="application/json")  # thousands of points, validated once


@router.get("/crossover", responses={**NOT_FOUND, **INVALID})
def get_crossovers(query: Annotated[CrossoverQuery, Query()], wired: Wired) -> CrossoversOut:
    """Where along an axis H3 and H2 take the same time, for each combination of everything else, with an interval.

    Profiles with jitter, bursts, reordering or a timeline are on no line. `kind` says so where it is too uncertain.
    """
    found = wired.crossovers.of(query.ids(), query.to_filter(), query.axis, query.baseline, query.candidate)
    return CrossoversOut.of(found)


@router.get("/annotations", responses=INVALID)
def list_annotations(query: Annotated[AnnotationQuery, Query()], wired: Wired) -> Page[AnnotationOut]:
    """Notes beside trends, oldest first."""
    items = [AnnotationOut.of(note) for note in wired.annotations.annotations(query.at_from, query.at_to)]
    return Page(items=items, total=len(items))


@router.post("/annotations", status_code=status.HTTP_201_CREATED, responses={**INVALID, **TOO_LARGE})
def create_annotation(body: AnnotationIn, wired: Wired) -> AnnotationOut:
    """Note something about a moment, to stand beside trends."""
    return AnnotationOut.of(wired.annotations.add(body.at, body.text, body.endpoint))


@router.delete(
    "/annotations/{annotation_id}", status_code=status.HTTP_204_NO_CONTENT, responses={**NOT_FOUND, **INVALID}
)
def delete_annotation(annotation_id: AnnotationId, wired: Wired) -> None:
    """Remove a note."""
    wired.annotations.remove(annotation_id)

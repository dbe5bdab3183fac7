"""Heatmaps of a campaign."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from api.container import Wired
from api.query import documented, read_query
from api.routes.problems import INVALID, NOT_FOUND
from api.schemas.clients_comparison import ClientsComparisonOut, ClientsComparisonQuery
from api.schemas.heatmap import HeatmapOut, HeatmapQuery

router = APIRouter(prefix="/campaigns/{campaign_id}", tags=["results"])


@router.get(
    "/heatmap",
    response_model=HeatmapOut,
    responses={**NOT_FOUND, **INVALID},
    openapi_extra=documented(HeatmapQuery),
)
def get_heatmap(campaign_id: UUID, wired: Wired, request: Request) -> Response:
    """One client against another in each cell: median difference with interval, verdict and proof of the link.

    Only rounds in which both clients succeeded or timed out count; the warm-up round never does. `mode=yu2020` and
    `mode=yu2021` add the squares of Yu and Benson's papers beside ours.
    """
    query = read_query(request, HeatmapQuery)

    def work_out() -> bytes:
        found = wired.heatmaps.of(str(campaign_id), query.baseline, query.candidate, query.mode)
        return HeatmapOut.of(found).model_dump_json().encode()

    question = f"heatmap {query.model_dump_json()}"
    return Response(wired.kept.of(str(campaign_id), question, work_out), media_type="application/json")


@router.get("/clients-comparison", responses={**NOT_FOUND, **INVALID})
def get_clients_comparison(
    campaign_id: UUID, query: Annotated[ClientsComparisonQuery, Query()], wired: Wired
) -> ClientsComparisonOut:
    """Each H3 client in percent over the best one of the cell: by the definitions of Yu and Benson, or by ours.

    In every mode the difference to the best in the same rounds stands beside it, with its interval. The best is chosen
    by the samples shown; `mode_note` says what that does.
    """
    return ClientsComparisonOut.of(wired.clients_comparisons.of(str(campaign_id), query.mode))

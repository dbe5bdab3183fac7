"""Heatmaps of a campaign."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from api.container import Wired
from api.routes.problems import INVALID, NOT_FOUND
from api.schemas.heatmap import HeatmapOut, HeatmapQuery

router = APIRouter(prefix="/campaigns/{campaign_id}", tags=["results"])


@router.get("/heatmap", responses={**NOT_FOUND, **INVALID})
def get_heatmap(campaign_id: UUID, query: Annotated[HeatmapQuery, Query()], wired: Wired) -> HeatmapOut:
    """One client against another in each cell: median difference with interval, verdict and proof of the link.

    Only rounds in which both clients succeeded count; the warm-up round never does.
    """
    return HeatmapOut.of(wired.heatmaps.of(str(campaign_id), query.baseline, query.candidate))

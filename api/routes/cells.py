"""Cells of campaigns: in pages, and one in full."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from api.container import Wired
from api.routes.problems import INVALID, NOT_FOUND
from api.schemas.cells import ArmsQuery, CellDetailOut, CellQuery, CellStatusOut
from api.schemas.common import Page

router = APIRouter(tags=["results"])

CellId = Annotated[int, Path(ge=0, lt=2**63)]


@router.get("/campaigns/{campaign_id}/cells", responses={**NOT_FOUND, **INVALID})
def list_cells(campaign_id: UUID, query: Annotated[CellQuery, Query()], wired: Wired) -> Page[CellStatusOut]:
    """Cells in the order they were planned, with how far they are and how their links were."""
    campaign = wired.campaigns.get(str(campaign_id))
    page = wired.cells.page(campaign.id, query.to_filter(), query.limit, query.cursor)
    return Page(items=[CellStatusOut.of(item) for item in page.items], next=page.next, total=page.total)


@router.get("/cells/{cell_id}", responses={**NOT_FOUND, **INVALID})
def get_cell(cell_id: CellId, query: Annotated[ArmsQuery, Query()], wired: Wired) -> CellDetailOut:
    """One cell in full: comparison, proof, exact programs and commands, distributions, every round in its order."""
    return CellDetailOut.of(wired.cell_details.of(cell_id, query.baseline, query.candidate))

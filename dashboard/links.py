"""Addresses of pages."""

from __future__ import annotations

from dashboard.client import Json
from dashboard.pages.view import link


def campaign_path(campaign_id: str) -> str:
    """One campaign."""
    return f"/campaigns/{campaign_id}"


def cell_href(cell: Json, heatmap: Json) -> str:
    """One cell, for the clients that are compared; ``cell`` as ``merge.labelled`` gives it."""
    path = f"{campaign_path(cell['campaign_id'])}/cells/{cell['cell_id']}"
    return link(
        path,
        baseline=cell.get("baseline_client", heatmap["baseline"]),
        candidate=cell.get("candidate_client", heatmap["candidate"]),
    )

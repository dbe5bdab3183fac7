"""Campaigns: create, list, follow, cancel."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, BackgroundTasks, Query, Request, Response, status

from api.container import Wired
from api.routes.problems import CONFLICT, INVALID, NOT_FOUND, TOO_LARGE
from api.schemas.campaigns import CampaignIn, CampaignOut, CampaignQuery
from api.schemas.common import Page
from lastbyte.ports import CampaignRecord

router = APIRouter(prefix="/campaigns", tags=["campaigns"])


def _out(request: Request, campaign: CampaignRecord) -> CampaignOut:
    return CampaignOut.of(campaign, request.app.url_path_for("get_campaign", campaign_id=campaign.id))


@router.post("", status_code=status.HTTP_201_CREATED, responses={**INVALID, **TOO_LARGE})
def create_campaign(
    body: CampaignIn, wired: Wired, request: Request, response: Response, background: BackgroundTasks
) -> CampaignOut:
    """Plan a campaign. It is measured as soon as a worker of its vantage is free."""
    created = _out(request, wired.campaigns.create(body.to_request()))
    response.headers["Location"] = created.links.self
    # After the answer: the campaign is stored, and a slow or absent broker must not hold up the caller.
    background.add_task(wired.campaigns.hand_out, created.id)
    return created


@router.get("", responses=INVALID)
def list_campaigns(query: Annotated[CampaignQuery, Query()], wired: Wired, request: Request) -> Page[CampaignOut]:
    """Campaigns, newest first."""
    page = wired.campaign_store.page(query.state, query.limit, query.cursor)
    return Page(items=[_out(request, campaign) for campaign in page.items], next=page.next, total=page.total)


@router.get("/{campaign_id}", responses={**NOT_FOUND, **INVALID})
def get_campaign(campaign_id: UUID, wired: Wired, request: Request) -> CampaignOut:
    """One campaign with its progress."""
    return _out(request, wired.campaigns.get(str(campaign_id)))


@router.post("/{campaign_id}/cancel", responses={**NOT_FOUND, **CONFLICT, **INVALID})
def cancel_campaign(campaign_id: UUID, wired: Wired, request: Request) -> CampaignOut:
    """Stop a campaign. What was measured stays."""
    return _out(request, wired.campaigns.cancel(str(campaign_id)))

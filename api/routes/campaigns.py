"""Campaigns: create, list, follow, pause, cancel, run again, delete."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, BackgroundTasks, Request, Response, status

from api.access import Called, may_use_any_port
from api.container import Container, Wired
from api.query import documented, read_query
from api.rendered import page_of
from api.routes.problems import CONFLICT, INVALID, NOT_FOUND, TOO_LARGE
from api.schemas.campaigns import CampaignEditIn, CampaignIn, CampaignOut, CampaignQuery, RerunIn
from api.schemas.common import Page
from api.schemas.estimate import EstimateOut
from lastbyte.ports import CampaignRecord
from lastbyte.services.campaigns import request_of

router = APIRouter(prefix="/campaigns", tags=["campaigns"])


def _out(request: Request, campaign: CampaignRecord) -> CampaignOut:
    return CampaignOut.of(campaign, request.app.url_path_for("get_campaign", campaign_id=campaign.id))


def _created(
    campaign: CampaignRecord, wired: Container, request: Request, response: Response, background: BackgroundTasks
) -> CampaignOut:
    created = _out(request, campaign)
    response.headers["Location"] = created.links.self
    # After the answer: the campaign is stored, and a slow or absent broker must not hold up the caller.
    background.add_task(wired.campaigns.hand_out, created.id)
    return created


@router.post("", status_code=status.HTTP_201_CREATED, responses={**INVALID, **TOO_LARGE})
def create_campaign(
    body: CampaignIn, wired: Wired, caller: Called, request: Request, response: Response, background: BackgroundTasks
) -> CampaignOut:
    """Plan a campaign. It is measured as soon as a worker of its vantage is free."""
    wired.guard.check(body.endpoints, any_port=may_use_any_port(caller))
    return _created(wired.campaigns.create(body.to_request()), wired, request, response, background)


@router.post("/estimate", responses={**INVALID, **TOO_LARGE})
def estimate_campaign(body: CampaignIn, wired: Wired) -> EstimateOut:
    """What the campaign would cost: trials, bytes, time and budgets of hosts. Nothing is stored or fetched."""
    return EstimateOut.of(wired.estimates.of(wired.campaigns.plan(body.to_request())))


@router.get("", response_model=Page[CampaignOut], responses=INVALID, openapi_extra=documented(CampaignQuery))
def list_campaigns(wired: Wired, request: Request) -> Response:
    """Campaigns, newest first."""
    query = read_query(request, CampaignQuery)
    page = wired.campaign_store.page(query.to_filter(), query.limit, query.cursor)
    rendered = [wired.rendered.of(campaign, lambda found: _out(request, found)) for campaign in page.items]
    return Response(page_of(rendered, page.next, page.total), media_type="application/json")


@router.get("/{campaign_id}", responses={**NOT_FOUND, **INVALID})
def get_campaign(campaign_id: UUID, wired: Wired, request: Request) -> CampaignOut:
    """One campaign with its progress."""
    return _out(request, wired.campaigns.get(str(campaign_id)))


@router.patch("/{campaign_id}", responses={**NOT_FOUND, **INVALID, **TOO_LARGE})
def edit_campaign(campaign_id: UUID, body: CampaignEditIn, wired: Wired, request: Request) -> CampaignOut:
    """Change a campaign's name or labels; what it measures can't be changed."""
    return _out(request, wired.campaigns.edit(str(campaign_id), body.name, body.labels))


@router.delete("/{campaign_id}", status_code=status.HTTP_204_NO_CONTENT, responses={**NOT_FOUND, **CONFLICT, **INVALID})
def delete_campaign(campaign_id: UUID, wired: Wired) -> None:
    """Remove a campaign that is over, with all that it measured. One that is not must be cancelled first."""
    wired.campaigns.delete(str(campaign_id))


@router.get("/{campaign_id}/spec", responses={**NOT_FOUND, **INVALID})
def get_campaign_spec(campaign_id: UUID, wired: Wired) -> CampaignIn:
    """What to post to get the same campaign once more, or, edited, a clone of it."""
    return CampaignIn.of(request_of(wired.campaigns.get(str(campaign_id))))


@router.post("/{campaign_id}/pause", responses={**NOT_FOUND, **CONFLICT, **INVALID})
def pause_campaign(campaign_id: UUID, wired: Wired, request: Request) -> CampaignOut:
    """Hold a campaign until it is resumed. A trial that runs at this moment is measured anew later."""
    return _out(request, wired.campaigns.pause(str(campaign_id)))


@router.post("/{campaign_id}/resume", responses={**NOT_FOUND, **CONFLICT, **INVALID})
def resume_campaign(campaign_id: UUID, wired: Wired, request: Request, background: BackgroundTasks) -> CampaignOut:
    """Let a paused campaign go on where it was."""
    resumed = wired.campaigns.resume(str(campaign_id))
    background.add_task(wired.campaigns.hand_out, resumed.id)
    return _out(request, resumed)


@router.post("/{campaign_id}/cancel", responses={**NOT_FOUND, **CONFLICT, **INVALID})
def cancel_campaign(campaign_id: UUID, wired: Wired, request: Request) -> CampaignOut:
    """Stop a campaign. What was measured stays."""
    return _out(request, wired.campaigns.cancel(str(campaign_id)))


@router.post(
    "/{campaign_id}/rerun", status_code=status.HTTP_201_CREATED, responses={**NOT_FOUND, **INVALID, **TOO_LARGE}
)
def rerun_campaign(
    campaign_id: UUID,
    wired: Wired,
    caller: Called,
    request: Request,
    response: Response,
    background: BackgroundTasks,
    body: RerunIn | None = None,
) -> CampaignOut:
    """Measure the same once more, as a new campaign, with the catalogue as it is now."""
    how = body or RerunIn()
    before = wired.campaigns.get(str(campaign_id)).spec
    wired.guard.check(before.endpoint_ids, any_port=may_use_any_port(caller))
    rerun = wired.campaigns.rerun(str(campaign_id), same_seed=how.same_seed, name=how.name)
    return _created(rerun, wired, request, response, background)

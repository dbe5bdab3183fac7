"""Endpoints and profiles that people make and change, and what is left of today's budgets."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response, status

from api.access import Called, may_use_any_port
from api.container import Wired
from api.routes.problems import CONFLICT, INVALID, NOT_FOUND, TOO_LARGE
from api.schemas.budgets import BudgetOut, EndpointBudgetOut
from api.schemas.catalogue import EndpointOut, ProfileOut
from api.schemas.common import PRINTABLE, Page
from api.schemas.editing import (
    EndpointChangeIn,
    EndpointIn,
    ProfileChangeIn,
    ProfileIn,
    ProfilePreviewIn,
    ProfilePreviewOut,
)
from api.tc_preview import tc_out
from lastbyte.domain.errors import InvalidInput, NotFound

router = APIRouter(tags=["catalogue"])

EndpointId = Annotated[str, Path(max_length=200, pattern=PRINTABLE)]
ProfileName = Annotated[str, Path(max_length=64, pattern=PRINTABLE)]


@router.post("/endpoints", status_code=status.HTTP_201_CREATED, responses={**CONFLICT, **INVALID, **TOO_LARGE})
def create_endpoint(
    body: EndpointIn, wired: Wired, caller: Called, request: Request, response: Response
) -> EndpointOut:
    """Add a URL to the catalogue. It stays when the catalogue's files are read anew."""
    endpoint = body.to_endpoint(body.id)
    wired.guard.check_listing(endpoint, any_port=may_use_any_port(caller))
    wired.editor.add_endpoint(endpoint, body.budget.to_change())
    response.headers["Location"] = request.app.url_path_for("get_endpoint", endpoint_id=body.id)
    return EndpointOut.of_entry(wired.editor.entry(body.id))


@router.get("/endpoints/{endpoint_id}", responses={**NOT_FOUND, **INVALID})
def get_endpoint(endpoint_id: EndpointId, wired: Wired) -> EndpointOut:
    """One endpoint."""
    return EndpointOut.of_entry(wired.editor.entry(endpoint_id))


@router.put("/endpoints/{endpoint_id}", responses={**NOT_FOUND, **INVALID, **TOO_LARGE})
def change_endpoint(endpoint_id: EndpointId, body: EndpointChangeIn, wired: Wired, caller: Called) -> EndpointOut:
    """Change an endpoint, also one that comes from a file. Campaigns keep the one they were planned with."""
    endpoint = body.to_endpoint(endpoint_id)
    wired.guard.check_listing(endpoint, any_port=may_use_any_port(caller))
    wired.editor.change_endpoint(endpoint, body.budget.to_change())
    return EndpointOut.of_entry(wired.editor.entry(endpoint_id))


@router.delete("/endpoints/{endpoint_id}", status_code=status.HTTP_204_NO_CONTENT, responses={**NOT_FOUND, **INVALID})
def retire_endpoint(endpoint_id: EndpointId, wired: Wired) -> None:
    """List an endpoint no more. What was measured of it stays."""
    wired.editor.retire_endpoint(endpoint_id)


@router.post("/profiles", status_code=status.HTTP_201_CREATED, responses={**CONFLICT, **INVALID, **TOO_LARGE})
def create_profile(body: ProfileIn, wired: Wired, request: Request, response: Response) -> ProfileOut:
    """Add a network condition to the catalogue. It stays when the catalogue's files are read anew."""
    if body.name == "preview":
        raise InvalidInput("name", "'preview' is taken: it is part of an address here.", "Choose another name.")
    profile = body.to_profile(body.name)
    wired.editor.add_profile(profile)
    response.headers["Location"] = request.app.url_path_for("get_profile", name=body.name)
    return ProfileOut.of(profile)


@router.post("/profiles/preview", responses={**INVALID, **TOO_LARGE})
def preview_profile(body: ProfilePreviewIn) -> ProfilePreviewOut:
    """Check a profile and show it as tc commands, with its warnings. Nothing is stored."""
    profile = body.to_profile(body.name)
    return ProfilePreviewOut(**ProfileOut.of(profile).model_dump(), tc=tc_out(profile, body.base_rtt_ms))


@router.get("/profiles/{name}", responses={**NOT_FOUND, **INVALID})
def get_profile(name: ProfileName, wired: Wired) -> ProfileOut:
    """One network condition."""
    found = next((profile for profile in wired.catalogue.profiles() if profile.name == name), None)
    if found is None:
        raise NotFound("profile", name)
    return ProfileOut.of(found)


@router.put("/profiles/{name}", responses={**NOT_FOUND, **INVALID, **TOO_LARGE})
def change_profile(name: ProfileName, body: ProfileChangeIn, wired: Wired) -> ProfileOut:
    """Change a profile, also one that comes from a file. Campaigns keep the one they were planned with."""
    profile = body.to_profile(name)
    wired.editor.change_profile(profile)
    return ProfileOut.of(profile)


@router.delete("/profiles/{name}", status_code=status.HTTP_204_NO_CONTENT, responses={**NOT_FOUND, **INVALID})
def retire_profile(name: ProfileName, wired: Wired) -> None:
    """List a profile no more. What was measured under it stays."""
    wired.editor.retire_profile(name)


@router.get("/budgets")
def list_budgets(wired: Wired) -> Page[BudgetOut]:
    """Hosts that are not ours: what may be asked of them, what was asked today, and what is left."""
    foreign = [entry for entry in wired.editor.entries() if entry.endpoint.origin == "production"]
    used = {found.host: found for found in wired.budgets.budgets()}
    missing = sorted({entry.endpoint.host for entry in foreign} - used.keys())
    used.update((found.host, found) for found in wired.budgets.budgets(missing))
    items = [
        BudgetOut.of(
            used[host],
            [
                EndpointBudgetOut.of(entry, used[host])
                for entry in foreign
                if entry.endpoint.host == host and not entry.budget.is_empty
            ],
        )
        for host in sorted(used)
    ]
    return Page(items=items, total=len(items))

"""What can be measured, with what, and from where."""

from __future__ import annotations

from fastapi import APIRouter

from api.container import Wired
from api.schemas.catalogue import ClientOut, EndpointOut, ProfileOut, VantageOut
from api.schemas.common import Page

router = APIRouter(tags=["catalogue"])


@router.get("/endpoints")
def list_endpoints(wired: Wired) -> Page[EndpointOut]:
    """URLs that can be measured."""
    items = [EndpointOut.of_entry(entry) for entry in wired.editor.entries()]
    return Page(items=items, total=len(items))


@router.get("/profiles")
def list_profiles(wired: Wired) -> Page[ProfileOut]:
    """Network conditions."""
    items = [ProfileOut.of(profile) for profile in wired.catalogue.profiles()]
    return Page(items=items, total=len(items))


@router.get("/clients")
def list_clients(wired: Wired) -> Page[ClientOut]:
    """Ways to fetch, with the exact builds that were seen."""
    builds = wired.catalogue.builds()
    items = [ClientOut.of(client, builds) for client in wired.catalogue.clients()]
    return Page(items=items, total=len(items))


@router.get("/vantages")
def list_vantages(wired: Wired) -> Page[VantageOut]:
    """Places with workers."""
    items = [VantageOut.of(seen) for seen in wired.vantages.vantages()]
    return Page(items=items, total=len(items))

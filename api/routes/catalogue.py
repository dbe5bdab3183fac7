"""What can be measured, with what, and from where."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from api.container import Wired
from api.routes.problems import INVALID, NOT_FOUND
from api.schemas.catalogue import ClientOut, EndpointOut, ProfileOut, VantageOut
from api.schemas.common import PRINTABLE, Page
from lastbyte.domain.errors import NotFound

router = APIRouter(tags=["catalogue"])

Named = Annotated[str, Path(max_length=200, pattern=PRINTABLE)]


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


@router.get("/clients/{client_id}", responses={**NOT_FOUND, **INVALID})
def get_client(client_id: Named, wired: Wired) -> ClientOut:
    """One way to fetch, with the exact builds that were seen."""
    found = next((client for client in wired.catalogue.clients() if client.id == client_id), None)
    if found is None:
        raise NotFound("client", client_id)
    return ClientOut.of(found, wired.catalogue.builds())


@router.get("/vantages")
def list_vantages(wired: Wired) -> Page[VantageOut]:
    """Places with workers."""
    items = [VantageOut.of(seen) for seen in wired.vantages.vantages()]
    return Page(items=items, total=len(items))


@router.get("/vantages/{name}", responses={**NOT_FOUND, **INVALID})
def get_vantage(name: Named, wired: Wired) -> VantageOut:
    """One place with workers: what it can do, how fast its clients can be there, and when it was last heard of."""
    found = next((seen for seen in wired.vantages.vantages() if seen.vantage.name == name), None)
    if found is None:
        raise NotFound("vantage", name)
    return VantageOut.of(found)

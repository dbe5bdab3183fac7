"""Is the process up, and can it work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends

from api.container import CatalogueState, Wired, catalogue_state_of
from api.routes.problems import UNAVAILABLE
from api.schemas.common import Output
from lastbyte.domain.errors import Unavailable

router = APIRouter(tags=["health"])


class HealthOut(Output):
    """All is well."""

    status: Literal["ok"] = "ok"


@router.get("/healthz")
def healthz() -> HealthOut:
    """The process answers."""
    return HealthOut()


@router.get("/readyz", responses=UNAVAILABLE)
def readyz(wired: Wired, catalogue: Annotated[CatalogueState, Depends(catalogue_state_of)]) -> HealthOut:
    """Database and broker answer, migrations are applied, the catalogue is stored; else 503 saying what is not."""
    troubles = [*_trouble("database", wired.catalogue.ping), *_trouble("broker", wired.queue.ping)]
    if not troubles:
        troubles = _trouble("schema", wired.check_schema)
    if not troubles and catalogue is not CatalogueState.STORED:
        troubles = [f"catalogue: endpoints, profiles and clients {catalogue.value}."]
    if troubles:
        raise Unavailable(" ".join(troubles))
    return HealthOut()


def _trouble(what: str, ping: Callable[[], None]) -> list[str]:
    try:
        ping()
    except Unavailable as exc:
        return [f"{what}: {exc}"]
    return []

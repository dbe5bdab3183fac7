"""Is the process up, and can it work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from fastapi import APIRouter

from api.container import Wired
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
def readyz(wired: Wired) -> HealthOut:
    """Database and broker answer and all migrations are applied; else 503 saying which does not."""
    troubles = [*_trouble("database", wired.catalogue.ping), *_trouble("broker", wired.queue.ping)]
    if not troubles:
        troubles = _trouble("schema", wired.check_schema)
    if troubles:
        raise Unavailable(" ".join(troubles))
    return HealthOut()


def _trouble(what: str, ping: Callable[[], None]) -> list[str]:
    try:
        ping()
    except Unavailable as exc:
        return [f"{what}: {exc}"]
    return []

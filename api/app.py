"""The application: ``uvicorn --factory api.app:create_app``."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from fastapi import FastAPI

from api import errors, openapi, telemetry
from api.access import AccessControl
from api.binding import bound_host, is_loopback, keys_asked_for, refuse_without_keys
from api.body_limit import BodyLimit
from api.container import CatalogueState, Container
from api.etag import ETags
from api.idempotency import Idempotency
from api.literal_paths import LiteralPaths
from api.routes import (
    analysis,
    artifacts,
    campaigns,
    catalogue,
    cells,
    docs,
    editing,
    events,
    health,
    heatmap,
    schedules,
    trials,
)
from api.routes.problems import ACCESS, UNAVAILABLE
from api.wiring import wire
from lastbyte.domain.errors import StoreUnavailable
from lastbyte.settings import Settings
from lastbyte.settings import settings as process_settings
from lastbyte.stats.changepoints import change_points
from lastbyte.stats.significance import wilcoxon_p

logger = logging.getLogger(__name__)

PREFIX = "/api/v1"
SYNC_RETRY_S = 2.0

WARM_UP_AFTER_S = 5.0
"""When the statistics are loaded (about 1 s of imports), so that the first heatmap need not wait for them; not at once,
because the other services of a machine start then too."""

DESCRIPTION = """\
Is HTTP/3 faster than HTTP/2 for this URL on this network? Post a campaign (endpoints x profiles x clients x rounds),
follow its progress, read its heatmap. Errors are RFC 9457 problem details that name the field and the remedy.
"""


def create_app(settings: Settings | None = None, wiring: Callable[[Settings], Container] = wire) -> FastAPI:
    """The API for ``settings`` (default: this process's environment)."""
    config = settings or process_settings()
    host = bound_host(config)
    keys_wanted = keys_asked_for(config, host)
    container = wiring(config)
    if keys_wanted:
        refuse_without_keys(container.doorkeeper, host)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        syncing = asyncio.create_task(_sync_until_done(app))
        warming = asyncio.create_task(_warm_up())
        # Without a database the API still starts, and says so at /readyz.
        await asyncio.wait([syncing], timeout=SYNC_RETRY_S)
        yield
        for task in (syncing, warming):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        container.close()

    app = FastAPI(
        title="lastbyte",
        version=version("lastbyte"),
        description=DESCRIPTION,
        openapi_tags=openapi.TAGS,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses={**UNAVAILABLE, **ACCESS},
    )
    app.state.container = container
    app.state.catalogue = CatalogueState.PENDING
    # in the order of how often they are asked: paths are looked for one after the other
    for module in (heatmap, campaigns, cells, trials, artifacts, analysis, schedules, catalogue, editing, events):
        app.include_router(module.router, prefix=PREFIX)
    app.include_router(health.router, prefix=PREFIX)
    app.include_router(health.router, include_in_schema=False)
    docs.install(app)
    errors.install(app)
    app.add_middleware(LiteralPaths, methods=openapi.literal_paths(app))
    app.add_middleware(Idempotency, keys=container.idempotency)
    app.add_middleware(BodyLimit)
    app.add_middleware(ETags)
    app.add_middleware(
        AccessControl,
        doorkeeper=container.doorkeeper if keys_wanted else None,
        rate_limits=container.rate_limits,
        requests_per_minute=config.rate_limit_per_minute,
        loopback_only=not config.api_published or not is_loopback(host),
    )
    telemetry.install(app, container)
    openapi.install(app)
    return app


async def _sync_until_done(app: FastAPI) -> None:
    while True:
        try:
            await asyncio.to_thread(app.state.container.sync_catalogue)
        except StoreUnavailable as exc:
            logger.warning("catalogue not synced yet: %s", exc)
            app.state.catalogue = CatalogueState.FAILING
            await asyncio.sleep(SYNC_RETRY_S)
        else:
            app.state.catalogue = CatalogueState.STORED
            return


async def _warm_up() -> None:
    await asyncio.sleep(WARM_UP_AFTER_S)
    # of what a heatmap computes, this is what needs SciPy; from six rounds on
    await asyncio.to_thread(wilcoxon_p, [1.0] * 6, [1.1, 1.2, 1.3, 1.4, 1.5, 1.6])
    await asyncio.to_thread(change_points, [1.0, 1.1] * 6)  # of trends, this is what takes long to import
    # Some 200,000 objects of modules stay until the end; looking at all of them again takes up to 0.2 s each time, in
    # the middle of somebody's request.
    gc.collect()
    gc.freeze()

"""The application: ``uvicorn --factory api.app:create_app``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from api import errors
from api.body_limit import BodyLimit
from api.container import Container
from api.routes import campaigns, catalogue, docs, health, heatmap, trials
from api.routes.problems import UNAVAILABLE
from api.schemas.problem import Problem
from api.wiring import wire
from lastbyte.domain.errors import StoreUnavailable
from lastbyte.settings import Settings
from lastbyte.settings import settings as process_settings
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
    container = wiring(settings or process_settings())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        syncing = asyncio.create_task(_sync_until_done(container))
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
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=UNAVAILABLE,
    )
    app.state.container = container
    for module in (campaigns, trials, heatmap, catalogue):
        app.include_router(module.router, prefix=PREFIX)
    app.include_router(health.router, prefix=PREFIX)
    app.include_router(health.router, include_in_schema=False)
    docs.install(app)
    errors.install(app)
    app.add_middleware(BodyLimit)
    _describe_problems(app)
    return app


async def _sync_until_done(container: Container) -> None:
    while True:
        try:
            await asyncio.to_thread(container.sync_catalogue)
        except StoreUnavailable as exc:
            logger.warning("catalogue not synced yet: %s", exc)
            await asyncio.sleep(SYNC_RETRY_S)
        else:
            return


async def _warm_up() -> None:
    await asyncio.sleep(WARM_UP_AFTER_S)
    # of what a heatmap computes, this is what needs SciPy; from six rounds on
    await asyncio.to_thread(wilcoxon_p, [1.0] * 6, [1.1, 1.2, 1.3, 1.4, 1.5, 1.6])


def _describe_problems(app: FastAPI) -> None:
    """Put the schema of problems into the OpenAPI document, in place of FastAPI's own validation errors."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schemas = generate()["components"]["schemas"]
            problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas.update(problem.pop("$defs"))
            schemas["Problem"] = problem
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
        assert app.openapi_schema is not None  # noqa: S101 - generate() has set it
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]

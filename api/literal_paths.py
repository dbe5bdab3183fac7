"""A path that is written out is never taken for one with a parameter: an ASGI middleware.

``PATCH /campaigns/estimate`` would else mean the campaign whose id is "estimate"; it is 405 (RFC 9110, 15.5.6).
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import problem


class LiteralPaths:
    """Answers methods that a path without parameters does not have; ``methods`` by path."""

    def __init__(self, app: ASGIApp, methods: Mapping[str, frozenset[str]]) -> None:
        self._app = app
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        methods = self._methods.get(scope["path"]) if scope["type"] == "http" else None
        if methods is None or scope["method"] in methods:
            await self._app(scope, receive, send)
            return
        detail = f"{scope['method']} is not possible here; see the Allow header."
        allowed = {"Allow": ", ".join(sorted(methods))}
        answer = problem(Request(scope), HTTPStatus.METHOD_NOT_ALLOWED, "method-not-allowed", detail, headers=allowed)
        await answer(scope, receive, send)

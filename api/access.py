"""Who may call: API keys, their scopes and their rates, before a request is read. An ASGI middleware."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.binding import REMEDY, is_loopback
from api.errors import RETRY_AFTER_S, problem
from lastbyte.adapters.rate_limits import Allowance, RateLimits
from lastbyte.domain.access import ANYBODY, Caller
from lastbyte.domain.access import Scope as Right
from lastbyte.domain.errors import StoreUnavailable
from lastbyte.services.access import Doorkeeper

_OPEN = re.compile(r"(/api/v1)?/(healthz|readyz)|/|/docs(/.*)?|/openapi\.json")
"""What shows nothing of the data."""

_RIGHTS: tuple[tuple[frozenset[str], re.Pattern[str], Right], ...] = (
    (frozenset({"GET", "HEAD", "OPTIONS"}), re.compile(r".*"), Right.READ),
    # questions that need a body
    (
        frozenset({"POST"}),
        re.compile(r"/api/v1/(schedules/preview|campaigns/estimate|profiles/preview|compare)"),
        Right.READ,
    ),
    (frozenset({"POST", "PUT", "PATCH", "DELETE"}), re.compile(r"/api/v1/schedules(/.*)?"), Right.SCHEDULE),
    (frozenset({"POST", "PATCH"}), re.compile(r"/api/v1/campaigns(/.*)?"), Right.SCHEDULE),
    (frozenset({"POST"}), re.compile(r"/api/v1/annotations"), Right.SCHEDULE),
)


def right_for(method: str, path: str) -> Right:
    """What a request needs; whatever is not listed needs all rights."""
    return next(
        (right for methods, pattern, right in _RIGHTS if method in methods and pattern.fullmatch(path)), Right.ADMIN
    )


class AccessControl:
    """Lets callers in by their key; without a ``doorkeeper`` everybody, by connections over loopback only."""

    def __init__(
        self,
        app: ASGIApp,
        doorkeeper: Doorkeeper | None,
        rate_limits: RateLimits,
        requests_per_minute: int,
        *,
        loopback_only: bool = True,
    ) -> None:
        self._app = app
        self._doorkeeper = doorkeeper
        self._rate_limits = rate_limits
        self._requests_per_minute = requests_per_minute
        self._loopback_only = loopback_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})
        if self._doorkeeper is None:
            if self._loopback_only and not is_loopback(str((scope.get("server") or ("",))[0])):
                detail = f"Without API keys this answers on loopback only. {REMEDY}"
                await problem(Request(scope), HTTPStatus.FORBIDDEN, "keys-needed", detail)(scope, receive, send)
                return
            scope["state"]["caller"] = ANYBODY
            await self._app(scope, receive, send)
            return
        if _OPEN.fullmatch(scope["path"]):
            scope["state"]["caller"] = ANYBODY
            await self._app(scope, receive, send)
            return
        await self._controlled(self._doorkeeper, scope, receive, send)

    async def _controlled(self, doorkeeper: Doorkeeper, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        shown = _bearer(request.headers)
        try:
            caller = await run_in_threadpool(doorkeeper.recognise, shown) if shown else None
        except StoreUnavailable as exc:
            headers = {"Retry-After": str(RETRY_AFTER_S)}
            refused = problem(request, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", str(exc), headers=headers)
            await refused(scope, receive, send)
            return
        if caller is None:
            detail = (
                "This key is unknown, expired or revoked."
                if shown
                else "Show an API key: Authorization: Bearer lb_... (lastbyte key create makes one)."
            )
            asked = {"WWW-Authenticate": 'Bearer realm="lastbyte"'}
            await problem(request, HTTPStatus.UNAUTHORIZED, "unauthorized", detail, headers=asked)(scope, receive, send)
            return
        limit = caller.requests_per_minute or self._requests_per_minute
        allowance = await run_in_threadpool(self._rate_limits.take, str(caller.key_id or caller.name), limit)
        limits = _limit_headers(allowance)
        if not allowance.granted:
            detail = f"The key {caller.name!r} has used up its {limit} requests of this minute."
            headers = {**limits, "Retry-After": str(allowance.reset_s)}
            refused = problem(request, HTTPStatus.TOO_MANY_REQUESTS, "too-many-requests", detail, headers=headers)
            await refused(scope, receive, send)
            return
        needed = right_for(request.method, request.url.path)
        if not caller.scope.includes(needed):
            detail = f"This needs a key with scope {needed}; the key {caller.name!r} has scope {caller.scope}."
            await problem(request, HTTPStatus.FORBIDDEN, "forbidden", detail, headers=limits)(scope, receive, send)
            return
        scope["state"]["caller"] = caller

        async def with_limits(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(limits)
            await send(message)

        await self._app(scope, receive, with_limits)


async def caller_of(request: Request) -> Caller:
    """Who sent this request."""
    caller: Caller = getattr(request.state, "caller", ANYBODY)
    return caller


Called = Annotated[Caller, Depends(caller_of)]


def may_use_any_port(caller: Caller) -> bool:
    """Whether the caller may have ports other than 443 measured."""
    return caller.scope.includes(Right.ADMIN)


def _bearer(headers: Mapping[str, str]) -> str:
    kind, _, shown = headers.get("authorization", "").partition(" ")
    return shown.strip() if kind.lower() == "bearer" else ""


def _limit_headers(allowance: Allowance) -> dict[str, str]:
    # draft-ietf-httpapi-ratelimit-headers-10
    return {
        "RateLimit-Policy": f'"key";q={allowance.limit};w=60',
        "RateLimit": f'"key";r={allowance.remaining};t={allowance.reset_s}',
    }

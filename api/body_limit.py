"""Refuse large bodies before they are read: an ASGI middleware."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import problem
from api.schemas.problem import FieldProblem

MAX_BODY_BYTES = 1 << 20

DRAIN_BYTES = 64 << 20
DRAIN_S = 5.0
"""How much of a refused body is read and thrown away, and for how long. Closing the connection on a client that still
sends would reset it, and the client would often never see the answer."""


class BodyLimit:
    """Lets bodies up to ``limit_bytes`` through, whole; answers others with 413, with or without a declared length."""

    def __init__(self, app: ASGIApp, limit_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > self._limit_bytes:
            await self._refuse(scope, receive, send)
            return
        if not declared and b"transfer-encoding" not in headers:
            await self._app(scope, receive, send)
            return
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client left
            body += message.get("body", b"")
            if len(body) > self._limit_bytes:
                await self._refuse(scope, receive, send)
                return
            if not message.get("more_body", False):
                break
        await self._app(scope, _replay(bytes(body), receive), send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        detail = f"The body is larger than {self._limit_bytes} bytes."
        response = problem(
            Request(scope),
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "body-too-large",
            detail,
            [FieldProblem(field="body", message=detail, remedy="Send less, for example fewer endpoints at a time.")],
            {"Connection": "close"},
        )
        await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
        await send({"type": "http.response.body", "body": response.body, "more_body": True})
        await _drain(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replayed() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


async def _drain(receive: Receive) -> None:
    left = DRAIN_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            while left > 0:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))

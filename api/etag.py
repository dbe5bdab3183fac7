"""ETags on answers in JSON, and 304 for who has them already (RFC 9110, 8.8.3 and 13.1.2): an ASGI middleware.

The tag is a digest of the answer. It saves the way over the network and the reading of what is known, not the work:
what is dear to work out is kept in ``api.kept``.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ETags:
    """Tags answers of GET that are JSON and not streamed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        held: Message | None = None
        parts: list[bytes] = []

        async def tagged(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _is_tagged(message):
                held = message
                return
            if held is None or message["type"] != "http.response.body":
                await send(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body", False):
                return
            known = Headers(scope=scope).get("if-none-match")
            await _finish(send, held, parts[0] if len(parts) == 1 else b"".join(parts), known)

        await self._app(scope, receive, tagged)


def _is_tagged(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    plain = headers.get("content-type", "").startswith("application/json") and "content-length" in headers
    return start["status"] == HTTPStatus.OK and plain and "etag" not in headers


async def _finish(send: Send, start: Message, body: bytes, known: str | None) -> None:
    tag = _tag(body)
    headers = [*start["headers"], (b"etag", tag.encode()), (b"cache-control", b"private, no-cache")]
    if known is not None and _matches(known, tag):
        kept = [(name, value) for name, value in headers if name not in (b"content-length", b"content-type")]
        await send({"type": "http.response.start", "status": int(HTTPStatus.NOT_MODIFIED), "headers": kept})
        await send({"type": "http.response.body", "body": b""})
        return
    await send({**start, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@lru_cache(maxsize=16)
def _tag(body: bytes) -> str:
    """What is kept in memory comes as the very same bytes again, whose hash Python knows."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _matches(known: str, tag: str) -> bool:
    """By the weak comparison; ``*`` stands for whatever there is."""
    candidates = [item.strip().removeprefix("W/") for item in known.split(",")]
    return "*" in candidates or tag in candidates

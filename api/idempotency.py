"""``Idempotency-Key`` on POST: the same key with the same request gives the first answer again, and creates nothing.

The header is as in the IETF draft "The Idempotency-Key HTTP Header Field". Only answers of success are kept, for a
day; a request that was refused may be mended and sent again with its key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import answer_of, problem
from api.schemas.problem import FieldProblem
from lastbyte.domain.errors import StoreUnavailable

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEY = re.compile(r"[!-~]{1,255}")
_KEPT_HEADERS = (b"content-type", b"location")


class Known(Protocol):
    """What came with a key before."""

    @property
    def request_sha256(self) -> str:
        """Digest of the request."""

    @property
    def status(self) -> int | None:
        """None: it is not answered yet."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Of the answer."""

    @property
    def body(self) -> bytes:
        """Of the answer."""


class Keys(Protocol):
    """Where keys and answers are kept."""

    def take(self, scope: str, key: str, request_sha256: str) -> Known | None:
        """None when the key was free and is now taken."""

    def answer(self, scope: str, key: str, status: int, headers: dict[str, str], body: bytes) -> None:
        """Keep the answer."""

    def free(self, scope: str, key: str) -> None:
        """Nothing was created."""


class Idempotency:
    """ASGI middleware; the body must be small (``BodyLimit`` outside of it)."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        key = request.headers.get(HEADER)
        if key is None:
            await self._app(scope, receive, send)
            return
        if not KEY.fullmatch(key):
            await _refused(request, "holds more than 255 characters, none, or other than printable ASCII.")(
                scope, receive, send
            )
            return
        body = await request.body()
        owner = hashlib.sha256(request.headers.get("authorization", "").encode()).hexdigest()[:16]
        digest = hashlib.sha256(str(request.url.path).encode() + b"\0" + scope["query_string"] + b"\0" + body)
        try:
            known = await run_in_threadpool(self._keys.take, owner, key, digest.hexdigest())
        except StoreUnavailable as exc:
            await (await answer_of(request, exc))(scope, receive, send)
            return
        if known is not None:
            await _again(request, known, digest.hexdigest())(scope, receive, send)
            return
        await self._first(scope, _replay(body, receive), send, owner, key)

    async def _first(self, scope: Scope, receive: Receive, send: Send, owner: str, key: str) -> None:
        started: Message | None = None
        parts: list[bytes] = []
        done = False

        async def watched(message: Message) -> None:
            nonlocal started, done
            if message["type"] == "http.response.start":
                started = message
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if not message.get("more_body", False) and started is not None and 200 <= started["status"] < 300:
                    headers = {k.decode(): v.decode("latin-1") for k, v in started["headers"] if k in _KEPT_HEADERS}
                    # before the answer goes out: who repeats the request at once must find it
                    await run_in_threadpool(self._keys.answer, owner, key, started["status"], headers, b"".join(parts))
                    done = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if not done:
                await run_in_threadpool(self._keys.free, owner, key)


def _again(request: Request, known: Known, digest: str) -> Response:
    if known.request_sha256 != digest:
        return _refused(request, "came with another request before; a key stands for one request.")
    if known.status is None:
        detail = "The first request with this Idempotency-Key is not answered yet; ask again in a moment."
        return problem(request, HTTPStatus.CONFLICT, "conflict", detail, headers={"Retry-After": "1"})
    return Response(known.body, known.status, {**known.headers, REPLAYED: "true"})


def _refused(request: Request, message: str) -> Response:
    item = FieldProblem(field=HEADER, message=message, remedy="Use a new one, for example a random UUID.")
    return problem(request, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-input", f"{HEADER} can't be used.", [item])


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replayed() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed

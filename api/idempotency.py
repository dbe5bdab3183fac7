"""``Idempotency-Key`` on POST: the same key with the same request gives the first answer again, and creates nothing.

The header is as in the IETF draft "The Idempotency-Key HTTP Header Field". Only answers of success are kept, for a
day; a request that was refused may be mended and sent again with its key. What is created and its answer are stored in
one transaction: whenever the process dies, the same request sent again creates once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import Protocol

from anyio import CancelScope
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


class Attempt(Protocol):
    """A request with a key: what it creates is stored together with its answer, or not at all."""

    @property
    def known(self) -> Known | None:
        """What came with the key before; None when it was free. With one there is nothing to keep."""

    def joined(self) -> AbstractContextManager[None]:
        """What stores change while the block runs is part of it."""

    def keep(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Store the answer and what was created; raises StoreUnavailable, and then nothing is."""

    def give_up(self) -> None:
        """Store nothing, unless it was kept."""


class Keys(Protocol):
    """Where keys and answers are kept."""

    def attempt(self, scope: str, key: str, request_sha256: str) -> Attempt:
        """Take the key. Raises StoreUnavailable."""


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
            attempt = await run_in_threadpool(self._keys.attempt, owner, key, digest.hexdigest())
        except StoreUnavailable as exc:
            await (await answer_of(request, exc))(scope, receive, send)
            return
        if attempt.known is not None:
            await _again(request, attempt.known, digest.hexdigest())(scope, receive, send)
            return
        await self._first(request, _replay(body, receive), send, attempt)

    async def _first(self, request: Request, receive: Receive, send: Send, attempt: Attempt) -> None:
        """The answer is held back until it is stored: who repeats the request at once must find it."""
        held: list[Message] = []

        async def watched(message: Message) -> None:
            if message["type"] not in ("http.response.start", "http.response.body"):
                await send(message)
                return
            held.append(message)
            if message["type"] == "http.response.start" or message.get("more_body", False):
                return
            await _settle(attempt, held)
            while held:
                await send(held.pop(0))

        try:
            with attempt.joined():
                await self._app(request.scope, receive, watched)
        except _NotKept as exc:
            await (await answer_of(request, exc.reason))(request.scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await run_in_threadpool(attempt.give_up)


class _NotKept(Exception):
    """The answer could not be stored, so nothing was created."""

    def __init__(self, reason: StoreUnavailable) -> None:
        super().__init__(str(reason))
        self.reason = reason


async def _settle(attempt: Attempt, answer: list[Message]) -> None:
    """Success is kept; of anything else nothing is. Afterwards stores work by themselves again."""
    start, *parts = answer
    if not 200 <= start["status"] < 300:
        await run_in_threadpool(attempt.give_up)
        return
    headers = {k.decode(): v.decode("latin-1") for k, v in start["headers"] if k in _KEPT_HEADERS}
    body = b"".join(part.get("body", b"") for part in parts)
    try:
        await run_in_threadpool(attempt.keep, start["status"], headers, body)
    except StoreUnavailable as exc:
        raise _NotKept(exc) from exc


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

"""Files of watched trials, passed on from the API: the browser need not reach it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
from dash import Dash
from flask import Response, request

from dashboard.client import ApiClient, ApiDown

_ASKED = ("Range", "If-Range", "If-None-Match")
_ANSWERED = ("Content-Type", "Content-Length", "Content-Range", "Content-Disposition", "ETag", "Accept-Ranges")


def register(app: Dash, api: ApiClient) -> None:
    """Add the route."""

    def artifact(artifact_id: int) -> Response:
        headers = {name: request.headers[name] for name in _ASKED if name in request.headers}
        try:
            answer = api.artifact(artifact_id, {**headers, "Accept-Encoding": "identity"})
        except ApiDown as exc:
            return Response(f"{exc} Try again in a moment.\n", 503, mimetype="text/plain")
        kept = {name: answer.headers[name] for name in _ANSWERED if name in answer.headers}
        return Response(_parts(answer), answer.status_code, headers=kept)

    app.server.add_url_rule("/artifact/<int:artifact_id>", "artifact", artifact)


def _parts(answer: httpx.Response) -> Iterator[bytes]:
    try:
        yield from answer.iter_raw(1 << 16)
    finally:
        answer.close()

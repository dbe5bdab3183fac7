"""How the OpenAPI document describes the problems that a route can answer with."""

from __future__ import annotations

from typing import Any

from api.schemas.problem import MEDIA_TYPE

Responses = dict[int | str, dict[str, Any]]


def _answer(status: int, description: str) -> Responses:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {status: {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}}


NOT_FOUND = _answer(404, "There is no such campaign")
GONE = _answer(410, "Its file is not kept any more, or is on another machine")
CONFLICT = _answer(409, "The campaign is over already")
TOO_LARGE = {
    **_answer(400, "The body is not JSON"),
    **_answer(413, "The body is larger than 1 MiB"),
    **_answer(415, "The body is not declared as JSON"),
}
INVALID = _answer(422, "Input that can't be used; errors name the fields")
UNAVAILABLE = _answer(503, "The database or the broker can't be reached; try again")
FORBIDDEN = _answer(403, "The key does not allow this")
ACCESS = {
    **_answer(401, "Keys are asked for here, and none that is valid was shown"),
    **FORBIDDEN,
    **_answer(429, "The key has used up its requests of this minute"),
}
"""What any route answers where keys are asked for."""

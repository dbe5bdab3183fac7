"""Errors of the product, of validation and of HTTP as RFC 9457 problem details. Only here do errors meet statuses."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from api.further_faults import further_faults
from api.schemas.problem import MEDIA_TYPE, FieldProblem, Problem
from lastbyte.domain.errors import (
    Conflict,
    Forbidden,
    Gone,
    InvalidInput,
    InvalidInputs,
    LastbyteError,
    NotFound,
    Unavailable,
)

logger = logging.getLogger(__name__)

TYPE_PREFIX = "urn:lastbyte:problem:"
RETRY_AFTER_S = 5
MAX_ERRORS = 50
"""A body can hold a thousand wrong names; nobody reads more than some."""

REMEDIES = {
    "missing": "Add the field.",
    "extra_forbidden": "Leave it out; see /docs for the fields there are.",
    "json_invalid": "Send one JSON object.",
    "string_unicode": "Use text without lone surrogates.",
    "string_pattern_mismatch": "Use the characters of the pattern only.",
    "too_short": "Name at least {min_length}.",
    "list_type": "Use a list.",
    "string_type": "Use a string.",
    "int_type": "Use a whole number.",
    "literal_error": "Use one of the values named.",
    "enum": "Use one of the values named.",
    "greater_than": "Use more than {gt}.",
    "greater_than_equal": "Use {ge} or more.",
    "less_than": "Use less than {lt}.",
    "less_than_equal": "Use {le} or less.",
    "string_too_long": "Use at most {max_length} characters.",
    "string_too_short": "Use at least {min_length} characters.",
    "too_long": "Name at most {max_length}.",
    "int_from_float": "Use a whole number.",
    "int_parsing": "Use a whole number.",
    "float_type": "Use a number.",
    "float_parsing": "Use a number.",
    "finite_number": "Use a finite number.",
    "bool_type": "Use true or false.",
    "bool_parsing": "Use true or false.",
    "uuid_parsing": "Use an id as it was given out.",
    "datetime_type": "Write it as 2026-01-31T03:15:00Z.",
    "datetime_from_date_parsing": "Write it as 2026-01-31T03:15:00Z.",
    "datetime_parsing": "Write it as 2026-01-31T03:15:00Z.",
    "dict_type": "Use an object.",
    "model_attributes_type": "Send one JSON object.",
}


class ProblemResponse(JSONResponse):
    """A problem as application/problem+json, in ASCII, so that no echoed input can break it."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        """JSON with escapes."""
        return json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def problem(
    request: Request,
    status: HTTPStatus,
    kind: str,
    detail: str,
    errors: Sequence[FieldProblem] = (),
    headers: Mapping[str, str] | None = None,
) -> ProblemResponse:
    """The response for one problem."""
    body = Problem(
        type=TYPE_PREFIX + kind,
        title=kind.replace("-", " ").capitalize(),
        status=status,
        detail=_readable(detail),
        instance=request.url.path,
        errors=list(errors),
    )
    return ProblemResponse(body.model_dump(), status_code=status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Make every error of ``app`` a problem."""
    app.add_exception_handler(LastbyteError, answer_of)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_unexpected)


_PLAIN: dict[type[LastbyteError], tuple[HTTPStatus, str]] = {
    NotFound: (HTTPStatus.NOT_FOUND, "not-found"),
    Gone: (HTTPStatus.GONE, "gone"),
    Conflict: (HTTPStatus.CONFLICT, "conflict"),
    Forbidden: (HTTPStatus.FORBIDDEN, "forbidden"),
}


async def answer_of(request: Request, exc: Exception) -> Response:
    """The problem that an error of ours means."""
    match exc:
        case InvalidInput():
            return invalid(request, [_item(exc)])
        case InvalidInputs():
            return invalid(request, [_item(fault) for fault in exc.faults[:MAX_ERRORS]])
        case Forbidden() if exc.field:
            item = FieldProblem(field=exc.field, message=_readable(exc.message), remedy=_readable(exc.remedy))
            return problem(request, HTTPStatus.FORBIDDEN, "forbidden", str(exc), [item])
        case NotFound() | Gone() | Conflict() | Forbidden():
            status, kind = _PLAIN[type(exc)]
            return problem(request, status, kind, str(exc))
        case Unavailable():
            logger.warning("%s %s: %s", request.method, request.url.path, exc)
            headers = {"Retry-After": str(RETRY_AFTER_S)}
            return problem(request, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", str(exc), headers=headers)
        case _:
            return await _on_unexpected(request, exc)


async def _on_validation_error(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, RequestValidationError)  # noqa: S101 - registered for this class only
    errors = exc.errors()
    if any(error["type"] == "json_invalid" for error in errors):
        found = errors[0]
        reason = found.get("ctx", {}).get("error", "not JSON")
        detail = f"The body is not valid JSON: {reason} at character {found['loc'][-1]}."
        item = FieldProblem(field="body", message=detail, remedy=REMEDIES["json_invalid"])
        return problem(request, HTTPStatus.BAD_REQUEST, "malformed-json", detail, [item])
    if any(error["loc"] == ("body",) for error in errors) and not _is_json(request):
        detail = "The body is not declared as JSON."
        item = FieldProblem(field="Content-Type", message=detail, remedy="Send Content-Type: application/json.")
        return problem(request, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", detail, [item])
    items = [_field_problem(error) for error in errors]
    if isinstance(exc.body, dict):
        more = await run_in_threadpool(
            further_faults, request, exc.body, {str(e["loc"][1]) for e in errors if e["loc"][1:]}
        )
        items += [_item(fault) for fault in more]
    return invalid(request, items[:MAX_ERRORS])


def _item(fault: InvalidInput) -> FieldProblem:
    return FieldProblem(field=_readable(fault.field), message=_readable(fault.message), remedy=_readable(fault.remedy))


def invalid(request: Request, items: Sequence[FieldProblem]) -> ProblemResponse:
    """The answer that names every field that can't be used."""
    fields = ", ".join(dict.fromkeys(item.field for item in items))
    return problem(request, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid-input", f"{fields} can't be used.", items)


def _field_problem(error: Mapping[str, Any]) -> FieldProblem:
    # The first part says where the field is (body, query, path); the field's own name is what people look for.
    place = error["loc"][1:] or error["loc"]
    message = error["msg"][:1].lower() + error["msg"][1:]
    return FieldProblem(
        field=_readable(".".join(str(part) for part in place)),
        message=_readable(message if message.endswith(".") else message + "."),
        remedy=_remedy(error),
    )


def _remedy(error: Mapping[str, Any]) -> str:
    template = REMEDIES.get(error["type"], "")
    try:
        return template.format_map(error.get("ctx") or {})
    except KeyError:
        return ""


async def _on_http_error(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)  # noqa: S101 - registered for this class only
    status = HTTPStatus(exc.status_code)
    details = {
        HTTPStatus.NOT_FOUND: f"There is nothing at {request.url.path}; see /docs for what there is.",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.method} is not possible here; see the Allow header.",
        HTTPStatus.BAD_REQUEST: "The body can't be read as JSON.",
    }
    detail = details.get(status, str(exc.detail))
    kind = status.phrase.lower().replace(" ", "-")
    headers = dict(exc.headers or {})
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods_at(request))
    return problem(request, status, kind, detail, headers=headers)


async def _on_unexpected(request: Request, exc: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=exc)
    detail = "Something went wrong here; the server's log says what."
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, "internal", detail)


def _methods_at(request: Request) -> list[str]:
    # Starlette names only the methods of the first route with this path; RFC 9110 (10.2.1) wants all of them.
    methods: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= set(route.methods or ())
    return sorted(methods)


def _is_json(request: Request) -> bool:
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return declared == "application/json" or (declared.startswith("application/") and declared.endswith("+json"))


def _readable(text: str) -> str:
    """Without lone surrogates, and no longer than a person reads."""
    shown = text.encode("utf-8", "replace").decode("utf-8")
    return shown if len(shown) <= 2000 else shown[:2000] + "..."

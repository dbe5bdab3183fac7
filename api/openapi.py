"""The OpenAPI document: problems, conditional reads, keys of creates, and an example for every operation."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from api.examples import example_of
from api.idempotency import HEADER, KEY
from api.schemas.problem import Problem

Json = dict[str, Any]

TAGS: list[Json] = [
    {"name": "campaigns", "description": "Plan, follow, pause, cancel and repeat measurements."},
    {"name": "results", "description": "Heatmaps, cells and trials of a campaign, and exports of them."},
    {"name": "captures", "description": "Packets, keys and qlog that watched trials left, and what they tell."},
    {"name": "analysis", "description": "Several campaigns together: pooled, compared, over time."},
    {"name": "schedules", "description": "Campaigns that start by themselves."},
    {"name": "catalogue", "description": "Endpoints, profiles, clients and vantages, and budgets of hosts."},
    {"name": "health", "description": "Whether this process is alive, and can work."},
]
"""In the order in which the page of documentation shows them."""

NOT_MODIFIED = {"description": "The answer is the one whose ETag was sent"}
_ETAG_HEADERS = {"ETag": {"description": "For If-None-Match", "schema": {"type": "string"}}}
_KEY_PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "The same key with the same request gives the first answer again, for a day.",
    "schema": {"type": "string", "pattern": f"^{KEY.pattern}$"},
}


def install(app: FastAPI) -> None:
    """Complete what FastAPI makes of the routes."""
    generate = app.openapi

    def openapi() -> Json:
        if app.openapi_schema is None:
            document = generate()
            _describe_problems(document["components"]["schemas"])
            for item in document["paths"].values():
                for method, operation in item.items():
                    _complete(method, operation, document)
            _describe_taken_names(document["paths"])
        assert app.openapi_schema is not None  # noqa: S101 - generate() has set it
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def literal_paths(app: FastAPI) -> dict[str, frozenset[str]]:
    """Methods of the paths below the prefix that have no parameter."""
    found: dict[str, frozenset[str]] = {}
    for route in iter_route_contexts(app.routes):
        path = str(getattr(route, "path", ""))
        if path.startswith("/api/") and "{" not in path:
            found[path] = found.get(path, frozenset()) | frozenset(route.methods or ())
    return found


def _describe_taken_names(paths: Json) -> None:
    """A parameter may spell a path that is written out beside it, which has other methods."""
    for path, item in paths.items():
        template = re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)))
        for method, operation in item.items():
            if any(method not in paths[other] for other in paths if other != path and template.fullmatch(other)):
                refused = operation["responses"]["503"]
                operation["responses"]["405"] = {**refused, "description": "This name stands for something else"}


def _describe_problems(schemas: Json) -> None:
    """In place of FastAPI's own validation errors."""
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs"))
    schemas["Problem"] = problem
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)


def _complete(method: str, operation: Json, document: Json) -> None:
    responses: Json = operation["responses"]
    for status, response in responses.items():
        content: Json = response.get("content", {})
        if status.startswith("2") and "application/json" in content:
            content["application/json"].setdefault(
                "example", example_of(content["application/json"]["schema"], document)
            )
            if method == "get":
                response.setdefault("headers", {}).update(_ETAG_HEADERS)
        for media_type, text in _TEXT_EXAMPLES.items():
            if status.startswith("2") and media_type in content:
                content[media_type].setdefault("example", text)
    if method == "get" and "application/json" in responses.get("200", {}).get("content", {}):
        responses["304"] = NOT_MODIFIED
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        body.setdefault("example", example_of(body["schema"], document))
    if method == "post" and "201" in responses:
        operation.setdefault("parameters", []).append(_KEY_PARAMETER)
        responses.setdefault("409", {**responses["422"], "description": "The first with this key is not answered yet"})


_TEXT_EXAMPLES = {
    "text/csv": "id,cell_id,endpoint,profile,client\r\n1,1,testbed-caddy-1MB,loss-1,curl-quiche-h3\r\n",
    "application/jsonl": '{"id":1,"cell_id":1,"endpoint":"testbed-caddy-1MB","client":"curl-quiche-h3"}\n',
    "text/event-stream": 'event: progress\nid: 1767237300000000-17\ndata: {"state":"running","progress":0.5}\n\n',
    "application/vnd.apache.parquet": "PAR1...",
    "application/octet-stream": "(bytes)",
}

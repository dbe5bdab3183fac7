"""Queries of routes that are asked often: read by pydantic alone.

FastAPI looks at the annotations of each field again with each request, which took a quarter of the time of an answer
from memory. Faults are the same, and so is the document.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, get_origin

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

Q = TypeVar("Q", bound=BaseModel)


def read_query(request: Request, model: type[Q]) -> Q:
    """The query of ``request``; raises RequestValidationError."""
    given = request.query_params
    lists = _lists(model)
    values = {name: given.getlist(name) if name in lists else value for name, value in given.items()}
    try:
        return model.model_validate(values)
    except ValidationError as exc:
        raise RequestValidationError([{**fault, "loc": ("query", *fault["loc"])} for fault in exc.errors()]) from exc


def documented(model: type[BaseModel]) -> dict[str, Any]:
    """``openapi_extra`` of a route that reads ``model`` so."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    parameters = []
    for name, found in schema["properties"].items():
        parameter: dict[str, Any] = {"name": name, "in": "query", "required": name in schema.get("required", ())}
        parameters.append(
            {**parameter, "schema": {"title": name.replace("_", " ").title(), **found}, **_described(found)}
        )
    return {"parameters": parameters}


def _described(found: dict[str, Any]) -> dict[str, Any]:
    return {"description": found["description"]} if "description" in found else {}


@lru_cache
def _lists(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(name for name, field in model.model_fields.items() if get_origin(field.annotation) is list)

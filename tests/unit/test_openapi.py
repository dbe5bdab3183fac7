"""The OpenAPI document says everything about every operation."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from api.app import create_app
from lastbyte.settings import Settings

DOCUMENT: dict[str, Any] = create_app(Settings()).openapi()
OPERATIONS = [
    pytest.param(operation, id=f"{method} {path}")
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]


def validate(example: Any, schema: dict[str, Any]) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(whole).validate(example)


def test_it_is_openapi_3_1_with_all_its_operations() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    assert len(OPERATIONS) >= 45


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_has_words_and_an_example_that_fits(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    examples = 0
    for status, response in operation["responses"].items():
        assert response["description"]
        for media_type, content in response.get("content", {}).items():
            if not status.startswith("2"):
                continue
            examples += "example" in content
            if media_type == "application/json":
                validate(content["example"], content["schema"])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        examples += 1
        validate(body["example"], body["schema"])
    assert examples or "204" in operation["responses"], "no example"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_parameter_is_described(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        assert parameter["in"] == "path" or parameter.get("description"), parameter["name"]

"""Endpoints from a JSON file: ``endpoints.json``, or one of the user's own.

The file holds ``{"endpoints": [{"id", "provider", "url", "size_label", "kind"?, "expected_bytes"?}, ...]}``. All of
them are production endpoints; the testbed describes its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lastbyte.domain.endpoint import Endpoint, EndpointKind, Origin, validate_url
from lastbyte.domain.errors import InvalidInput

DEFAULT_FILE = Path(__file__).parents[2] / "endpoints.json"

_REQUIRED = ("id", "provider", "url", "size_label")
_OPTIONAL = ("kind", "expected_bytes")


def load_endpoints(file: Path | None = None) -> list[Endpoint]:
    """The endpoints in ``file`` (default: the ones that come with lastbyte), in its order.

    Raises InvalidInput naming the file and the item.
    """
    source = file or DEFAULT_FILE
    try:
        document = json.loads(source.read_text(encoding="utf-8"))
    except OSError as exc:
        raise InvalidInput(str(source), f"can't be read: {exc.strerror}.") from exc
    except ValueError as exc:
        raise InvalidInput(str(source), f"is not JSON: {exc}.") from exc
    items = document.get("endpoints") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise InvalidInput(str(source), "holds no list of endpoints.", 'Expected {"endpoints": [...]}.')
    endpoints = [_endpoint(item, f"{source.name}: endpoints.{index}") for index, item in enumerate(items)]
    seen: set[str] = set()
    for index, endpoint in enumerate(endpoints):
        if endpoint.id in seen:
            raise InvalidInput(f"{source.name}: endpoints.{index}.id", f"{endpoint.id!r} is there twice.")
        seen.add(endpoint.id)
    return endpoints


def _endpoint(item: Any, where: str) -> Endpoint:
    if not isinstance(item, Mapping):
        raise InvalidInput(where, "is not an object.")
    for key in item:
        if key not in (*_REQUIRED, *_OPTIONAL):
            raise InvalidInput(f"{where}.{key}", "is no field of an endpoint.", f"Known: {_REQUIRED + _OPTIONAL}.")
    for key in _REQUIRED:
        if not isinstance(item.get(key), str) or not item[key]:
            raise InvalidInput(f"{where}.{key}", "is missing or no text.")
    validate_url(item["url"], f"{where}.url")
    kind = item.get("kind", EndpointKind.OBJECT)
    if kind not in list(EndpointKind):
        raise InvalidInput(f"{where}.kind", f"{kind!r} is unknown.", "Use object or page.")
    expected_bytes = item.get("expected_bytes")
    if expected_bytes is not None and (not isinstance(expected_bytes, int) or expected_bytes < 0):
        raise InvalidInput(f"{where}.expected_bytes", "is no number of bytes.", "Use a whole number, or leave it out.")
    return Endpoint(
        id=item["id"],
        provider=item["provider"],
        url=item["url"],
        size_label=item["size_label"],
        kind=EndpointKind(kind),
        origin=Origin.PRODUCTION,
        expected_bytes=expected_bytes,
    )

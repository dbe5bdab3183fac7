"""The catalogue of production endpoints: ``endpoints.json``, whose format docs/endpoints.md describes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from lastbyte.domain.endpoint import Endpoint, EndpointKind, Origin, validate_url
from lastbyte.domain.errors import InvalidInput

DEFAULT_FILE = Path(__file__).parents[2] / "endpoints.json"
"""The catalogue that comes with lastbyte."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_REQUIRED = ("id", "provider", "url", "size_label")
_KNOWN = frozenset({*_REQUIRED, "kind", "expected_bytes", "expected_sha256", "$comment"})
_RESERVED = "testbed"


def load_endpoints(file: Path | None = None) -> list[Endpoint]:
    """Endpoints of ``file``, else of DEFAULT_FILE, in its order; raises InvalidInput naming file, entry and field."""
    path = file or DEFAULT_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise InvalidInput(str(path), f"can't be read: {exc.strerror or exc}.", "Set LASTBYTE_ENDPOINTS_FILE.") from exc
    except UnicodeDecodeError as exc:
        raise InvalidInput(str(path), f"is not UTF-8: {exc.reason} at byte {exc.start}.", "Save it as UTF-8.") from exc
    return parse_endpoints(text, str(path))


def parse_endpoints(text: str, source: str) -> list[Endpoint]:
    """Endpoints of a catalogue's text; ``source`` is the name that messages give."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as exc:
        raise InvalidInput(source, f"is not JSON: {exc.msg} in line {exc.lineno}, column {exc.colno}.") from exc
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(source, f"is not JSON that can be read: {exc}.") from exc
    if not isinstance(data, dict) or not isinstance(data.get("endpoints"), list):
        raise InvalidInput(source, "has no list of endpoints.", 'Expected: {"endpoints": [{...}, ...]}')
    unknown = sorted(set(data) - {"endpoints", "$comment"})
    if unknown:
        raise InvalidInput(f"{source}: {unknown[0]}", "is not a field of this file.", "Known: endpoints, $comment.")
    found: list[Endpoint] = []
    places: dict[str, int] = {}
    for index, entry in enumerate(cast("list[object]", data["endpoints"])):
        place = f"{source}: endpoints[{index}]"
        endpoint = _endpoint(entry, place)
        if endpoint.id in places:
            raise InvalidInput(
                f"{place}.id", f"{endpoint.id!r} is taken by endpoints[{places[endpoint.id]}].", "Give each its own id."
            )
        places[endpoint.id] = index
        found.append(endpoint)
    return found


def _endpoint(entry: object, place: str) -> Endpoint:
    if not isinstance(entry, dict):
        raise InvalidInput(place, "is not an object.", f"Give it {', '.join(_REQUIRED)}.")
    for key in entry:
        if key not in _KNOWN:
            raise InvalidInput(f"{place}.{key}", "is not a known field.", f"Known: {', '.join(sorted(_KNOWN))}.")
    ident, provider, url, size_label = (_text(entry, key, place) for key in _REQUIRED)
    if not _ID.fullmatch(ident):
        raise InvalidInput(f"{place}.id", f"{ident!r} is no id.", "Use up to 80 letters, digits, '.', '_' and '-'.")
    for key, value in (("id", ident), ("provider", provider)):
        if value == _RESERVED or value.startswith(f"{_RESERVED}-"):
            raise InvalidInput(f"{place}.{key}", f"{value!r} is kept for the testbed.", "Choose another name.")
    validate_url(url, f"{place}.url")
    return Endpoint(
        id=ident,
        provider=provider,
        url=url,
        size_label=size_label,
        kind=_kind(entry, place),
        origin=Origin.PRODUCTION,
        expected_bytes=_expected_bytes(entry, place),
        expected_sha256=_expected_sha256(entry, place),
    )


def _text(entry: Mapping[str, object], key: str, place: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        said = "is missing." if key not in entry else f"must be text, not {value!r}."
        raise InvalidInput(f"{place}.{key}", said, "docs/endpoints.md describes each field.")
    return value


def _kind(entry: Mapping[str, object], place: str) -> EndpointKind:
    value = entry.get("kind", EndpointKind.OBJECT.value)
    if not isinstance(value, str) or value not in list(EndpointKind):
        raise InvalidInput(f"{place}.kind", f"{value!r} is no kind of endpoint.", f"Known: {', '.join(EndpointKind)}.")
    return EndpointKind(value)


def _expected_bytes(entry: Mapping[str, object], place: str) -> int | None:
    value = entry.get("expected_bytes")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidInput(f"{place}.expected_bytes", f"{value!r} is no size.", "Give a whole number of bytes.")
    return value


def _expected_sha256(entry: Mapping[str, object], place: str) -> str | None:
    value = entry.get("expected_sha256")
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch("[0-9a-fA-F]{64}", value):
        raise InvalidInput(f"{place}.expected_sha256", f"{value!r} is no SHA-256.", "Give 64 hexadecimal digits.")
    return value.lower()

"""Examples from schemas: what the schema itself gives, else a value that its field's name makes one expect."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_ID = "3f0c2d6e-8a51-4b7e-9d0a-5f1c2b3a4d5e"
_AT = "2026-01-31T03:15:00.000000Z"

_BY_NAME: Json = {
    "id": _ID,
    "campaign_id": _ID,
    "endpoint": "testbed-caddy-1MB",
    "endpoints": ["testbed-caddy-1MB"],
    "profile": "loss-1",
    "profiles": ["loss-1"],
    "client": "curl-quiche-h3",
    "clients": ["curl-quiche-h2", "curl-quiche-h3"],
    "baseline": "curl-quiche-h2",
    "candidate": "curl-quiche-h3",
    "provider": "testbed-caddy",
    "name": "nightly",
    "labels": ["nightly"],
    "vantage": "local",
    "host": "www.example.org",
    "url": "https://testbed-caddy.test/1MB.bin",
    "size_label": "1MB",
    "order": ["curl-quiche-h3", "curl-quiche-h2"],
    "waiting_for": [],
    "rounds": 10,
    "n": 10,
    "diff_pct": -12.5,
    "ci_low_pct": -15.1,
    "ci_high_pct": -9.8,
    "ttlb_ms": 912.4,
    "median_ttlb_ms": 905.7,
    "value_ms": 905.7,
    "loss_pct": 1.0,
    "rate_mbit_s": 10.0,
    "p_value": 0.002,
    "q_value": 0.008,
    "confidence": 0.95,
    "outcome": "ok",
    "box_kind": "uml",
    "next": None,
    "cron": "15 3 * * *",
    "time_zone": "Europe/Berlin",
}

_DEEPEST = 12


def example_of(schema: Json, document: Json, name: str = "", depth: int = 0) -> Any:
    """A value that ``schema`` allows; ``name`` is the field's."""
    if "$ref" in schema:
        return example_of(_resolved(schema["$ref"], document), document, name, depth)
    given = _given(schema)
    if given is not None:
        return given
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        kinds = [option for option in options if option.get("type") != "null"]
        return None if not kinds or depth > _DEEPEST else example_of({**kinds[0]}, document, name, depth)
    if "allOf" in schema:
        return example_of(schema["allOf"][0], document, name, depth)
    if name in _BY_NAME and _fits(_BY_NAME[name], schema):
        return _BY_NAME[name]
    return _by_type(schema, document, name, depth)


def _given(schema: Json) -> Any:
    if schema.get("examples"):
        return schema["examples"][0]
    return schema.get("const", schema["enum"][0] if schema.get("enum") else None)


def _by_type(schema: Json, document: Json, name: str, depth: int) -> Any:
    match schema.get("type"):
        case "object" if "properties" in schema:
            return {key: example_of(item, document, key, depth + 1) for key, item in schema["properties"].items()}
        case "array":
            items = schema.get("prefixItems") or [schema["items"]]
            return [example_of(item, document, name, depth + 1) for item in items]
        case "boolean":
            return schema.get("default", False)
        case "integer" | "number":
            return _number(schema)
        case "string":
            return _text(schema, name)
    return {} if schema.get("type") == "object" else None


def _number(schema: Json) -> float:
    least: float = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1 if "exclusiveMinimum" in schema else 1)
    most: float = schema.get("maximum", max(1, least))
    return min(max(1, least), most)


def _text(schema: Json, name: str) -> str:
    match schema.get("format"):
        case "uuid":
            return _ID
        case "date-time":
            return _AT
    if name == "at" or name.endswith("_at"):
        return _AT
    text: str = schema.get("default") or "text"
    return text


def _fits(value: Any, schema: Json) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "array": list,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    kind = kinds.get(schema.get("type", ""))
    if kind is None or not isinstance(value, kind):
        return False
    return not isinstance(value, list) or schema.get("items", {}).get("type") == "string"


def _resolved(reference: str, document: Json) -> Json:
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    resolved: Json = found
    return resolved

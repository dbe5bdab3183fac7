"""A load as an HTTP Archive (HAR 1.2), which browsers' developer tools open."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from page_load import PageWatch, Resource

VERSIONS = {"h2": "h2", "h3": "h3", "http/1.1": "HTTP/1.1"}


def har_of(watch: PageWatch, url: str, painted: Mapping[str, float], browser: str) -> dict[str, Any]:
    """The archive. Times in milliseconds; those of the page are counted from the start of the first connection."""

    def since(name: str) -> float | None:
        return painted[name] - painted["zero"] if painted.get(name) else None

    page = {
        "id": "page",
        "title": url,
        "startedDateTime": _iso(watch.resources[0].wall + _lead_s(watch.resources[0])) if watch.resources else "",
        "pageTimings": {
            "onContentLoad": -1,
            "onLoad": since("load") or -1,
            "_firstContentfulPaint": since("fcp") or -1,
            "_largestContentfulPaint": since("lcp") or -1,
        },
    }
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "lastbyte", "version": "1"},
            "browser": {"name": "Chromium", "version": browser},
            "pages": [page],
            "entries": [_entry(one) for one in watch.counted() if one.response],
        }
    }


def _lead_s(first: Resource) -> float:
    """From the first request to the start of its connection."""
    timing = first.response.get("timing")
    return timing["requestTime"] + max(timing["connectStart"], 0) / 1000 - first.sent if timing else 0.0


def _entry(one: Resource) -> dict[str, Any]:
    answer, timings = one.response, _timings(one)
    version = VERSIONS.get(one.protocol, one.protocol)
    return {
        "pageref": "page",
        "startedDateTime": _iso(one.wall),
        "time": sum(value for name, value in timings.items() if value > 0 and name != "ssl"),
        "request": {
            "method": "GET",
            "url": one.url,
            "httpVersion": version,
            "headers": [],
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": 0,
        },
        "response": {
            "status": answer["status"],
            "statusText": answer.get("statusText", ""),
            "httpVersion": version,
            "headers": [{"name": name, "value": value} for name, value in answer.get("headers", {}).items()],
            "cookies": [],
            "content": {"size": one.body_bytes, "mimeType": answer.get("mimeType", "")},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": one.body_bytes,
            "_transferSize": one.transferred_bytes,
            "_error": one.error or None,
        },
        "cache": {},
        "timings": timings,
        "serverIPAddress": answer.get("remoteIPAddress", "").strip("[]"),
        "connection": str(answer.get("connectionId") or ""),
        "_connectionReused": bool(answer.get("connectionReused", False)),
        "_resourceType": one.kind.lower(),
    }


def _timings(one: Resource) -> dict[str, float]:
    """HAR's phases in ms, -1 for those that were not; they add up to the request's whole time, without ``ssl``."""
    timing = one.response.get("timing")
    if not timing:
        whole = max(0.0, (one.finished - one.sent) * 1000)
        return {"blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": whole, "receive": 0}

    def between(start: str, end: str) -> float:
        return max(0.0, timing[end] - timing[start]) if timing.get(start, -1) >= 0 and timing.get(end, -1) >= 0 else -1

    dns, connect = between("dnsStart", "dnsEnd"), between("connectStart", "connectEnd")
    began = (timing["requestTime"] - one.sent) * 1000
    receive = (one.finished - timing["requestTime"]) * 1000 - timing["receiveHeadersStart"]
    return {
        "blocked": max(0.0, began + timing["sendStart"] - max(dns, 0) - max(connect, 0)),
        "dns": dns,
        "connect": connect,
        "ssl": between("sslStart", "sslEnd"),
        "send": between("sendStart", "sendEnd"),
        "wait": max(0.0, timing["receiveHeadersStart"] - timing["sendEnd"]),
        "receive": max(0.0, receive),
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")

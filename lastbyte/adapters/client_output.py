"""What a client printed, read into one ``Report``. Pure: text in, figures out.

Every figure may be missing: a report holds what the client said and nothing else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

from lastbyte.adapters.verbose_output import spoken
from lastbyte.domain.client import Client, Parser
from lastbyte.domain.page import PageLoad
from lastbyte.domain.tls import GroupSource, TlsDetails, group_name

TIME_FIGURES = ("start", "handshake", "ttfb", "ttlb")
FIGURES = frozenset(
    {
        *TIME_FIGURES,
        "status",
        "http_version",
        "body_bytes",
        "announced_bytes",
        "remote_address",
        "connections",
        "tls_version",
        "tls_cipher",
        "tls_group",
        "resumed",
        "early_data",
    }
)
"""Names that a description may use as regular expression groups or JSON fields."""
JSON_FIGURES = FIGURES | {"headers", "page"}
"""With ``headers``, an object of the response headers, and ``page``, one of the fields of ``PageLoad``."""

RESUMED_HEADER = "x-tls-resumed"
"""Response header in which the testbed says whether a TLS session was resumed."""
EDGE_HEADERS = (
    "age",
    "via",
    "server",
    "cf-ray",
    "x-cache",
    "x-served-by",
    "x-fb-debug",
    "alt-svc",
    RESUMED_HEADER,
    "x-connection-requests",
    "x-tls-group",
)
"""Response headers that tell which edge server answered, what it offers, and what the request began with."""

_PAGE = TypeAdapter(PageLoad)
_TO_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_CLOCK = "clock"
_DAY_S = 86_400
_MAX_HEADER = 500


@dataclass(frozen=True, slots=True)
class Report:
    """What a client said of one fetch. Times in seconds on the client's own clock; ``start_s`` is their zero."""

    start_s: float = 0.0
    """Start of the connection: everything before it (name resolution) is no part of any phase."""
    handshake_s: float | None = None
    ttfb_s: float | None = None
    ttlb_s: float | None = None
    status: int | None = None
    http_version: str | None = None
    body_bytes: int | None = None
    announced_bytes: int | None = None
    """The Content-Length of the response."""
    remote_address: str | None = None
    connections: int | None = None
    """New connections that the fetch took."""
    early_data_bytes: int | None = None
    """Bytes that left before the handshake was over and were accepted; negative: refused by the server."""
    early_data: bool | None = None
    """True when the request left as early data and was accepted; where the client says no number of bytes."""
    resumed: bool | None = None
    """True when the client says that its TLS session was resumed."""
    tls: TlsDetails | None = None
    """What the client says was agreed on."""
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    page: PageLoad | None = None
    """Of a whole page."""


def read_report(client: Client, stdout: str, stderr: str, elapsed_s: float) -> Report | None:
    """The report in the client's output; None when the output can't be read.

    ``elapsed_s`` is the wall time of the process, which the parser ``wall`` takes for TTLB.
    """
    match client.parser:
        case Parser.CURL_JSON:
            return _curl_report(spoken(stderr) if client.body else stdout)
        case Parser.JSON:
            return _json_report(client, _chosen(client.stream, stdout, stderr))
        case Parser.REGEX:
            return _figures_report(_searched(client.patterns, _chosen(client.stream, stdout, stderr)), client.unit)
        case _:
            return Report(ttlb_s=elapsed_s)


def _chosen(stream: str, stdout: str, stderr: str) -> str:
    return {"stdout": stdout, "stderr": stderr, "both": f"{stdout}\n{stderr}"}[stream]


def _curl_report(stdout: str) -> Report | None:
    """curl(1), --write-out %{json} and %{header_json}.

    ``time_appconnect`` is the TLS or QUIC handshake done; ``time_connect`` is not used, because over QUIC it means
    the first datagram from the peer.
    """
    decoder = json.JSONDecoder()
    begin = stdout.find("{")
    if begin < 0:
        return None
    try:
        figures, end = decoder.raw_decode(stdout, begin)
    except ValueError:
        return None
    headers: dict[str, list[str]] = {}
    second = stdout.find("{", end)
    if second >= 0:
        try:
            found, _ = decoder.raw_decode(stdout, second)
            headers = {str(k).lower(): v for k, v in found.items() if isinstance(v, list)}
        except ValueError:
            headers = {}  # some curl print broken JSON for odd header bytes; the figures stand without them
    handshake, first = _number(figures.get("time_appconnect")), _number(figures.get("time_starttransfer"))
    length = headers.get("content-length", [])
    version = str(figures.get("http_version") or "")
    return Report(
        start_s=_number(figures.get("time_namelookup")) or 0.0,
        handshake_s=handshake or None,
        ttfb_s=first or None,
        ttlb_s=_number(figures.get("time_total")),
        status=_whole(figures.get("response_code")) or None,
        http_version=None if version in {"", "0"} else version,
        body_bytes=_whole(figures.get("size_download")),
        announced_bytes=_whole(length[-1]) if length else None,
        remote_address=str(figures.get("remote_ip") or "") or None,
        connections=_whole(figures.get("num_connects")),
        early_data_bytes=_whole(figures.get("tls_earlydata")),
        error=str(figures.get("errormsg") or ""),
        headers=_edge_headers({name: ", ".join(map(str, values)) for name, values in headers.items()}),
    )


def _edge_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name][:_MAX_HEADER] for name in EDGE_HEADERS if name in headers}


def _json_report(client: Client, stdout: str) -> Report | None:
    document = _document(stdout)
    if document is None:
        return None
    found = {name: _at(document, path) for name, path in client.timing_map.items()}
    headers, page = found.pop("headers", None), found.pop("page", None)
    report = _figures_report({k: str(v) for k, v in found.items() if v is not None}, client.unit)
    if report is None:
        return None
    report = replace(report, page=_page(page))
    if not isinstance(headers, dict):
        return report
    return replace(report, headers=_edge_headers({str(name).lower(): str(value) for name, value in headers.items()}))


def _page(found: object) -> PageLoad | None:
    try:
        return None if found is None else _PAGE.validate_python(found)
    except ValidationError:
        return None


def _document(stdout: str) -> object:
    """All of the output as JSON, else its last line that is a JSON object."""
    candidates = [stdout, *(line for line in reversed(stdout.splitlines()) if line.lstrip().startswith("{"))]
    for text in candidates:
        try:
            return json.loads(text)
        except ValueError:
            continue
    return None


def _at(document: object, path: str) -> object:
    """Value at a dotted path; numbers are list indexes (``runs.0.total_ms``)."""
    value = document
    for key in path.split("."):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.lstrip("-").isdigit() and -len(value) <= int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _searched(patterns: tuple[str, ...], text: str) -> dict[str, str]:
    """Named groups of every pattern's last match, so that a program's summary wins over its progress lines."""
    figures: dict[str, str] = {}
    for pattern in patterns:
        last = None
        for last in re.finditer(pattern, text, re.MULTILINE):  # noqa: B007 - the last one is wanted
            pass
        if last is not None:
            figures.update({name: value for name, value in last.groupdict().items() if value is not None})
    return figures


def _figures_report(figures: Mapping[str, str], unit: str) -> Report | None:
    if "ttlb" not in figures:
        return replace(_rest(figures)) if figures else None
    if unit == _CLOCK:
        scaled = _since_start({name: _time_of_day(figures.get(name, "")) for name in TIME_FIGURES})
    else:
        times = {name: _number(figures.get(name)) for name in TIME_FIGURES}
        scaled = {name: None if value is None else value * _TO_SECONDS[unit] for name, value in times.items()}
    return replace(
        _rest(figures),
        start_s=scaled["start"] or 0.0,
        handshake_s=scaled["handshake"],
        ttfb_s=scaled["ttfb"],
        ttlb_s=scaled["ttlb"],
    )


def _time_of_day(said: str) -> float | None:
    """Seconds since midnight of ``12:34:56.789012``."""
    match = re.fullmatch(r"(\d{1,2}):(\d\d):(\d\d(?:\.\d+)?)", said)
    return None if match is None else int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])


def _since_start(times: Mapping[str, float | None]) -> dict[str, float | None]:
    """Times of day counted from the first of them; what is earlier than it came after midnight."""
    start = times["start"]
    if start is None:
        return dict.fromkeys(times)  # a time of day alone says nothing
    return {name: None if at is None else (at - start) % _DAY_S for name, at in times.items()}


def _rest(figures: Mapping[str, str]) -> Report:
    version = figures.get("http_version", "").upper().removeprefix("HTTP/").removeprefix("H").removesuffix(".0")
    return Report(
        status=_whole(figures.get("status")),
        http_version=version or None,
        body_bytes=_whole(figures.get("body_bytes")),
        announced_bytes=_whole(figures.get("announced_bytes")),
        remote_address=figures.get("remote_address") or None,
        connections=_whole(figures.get("connections")),
        resumed=_truth(figures.get("resumed")),
        early_data=_truth(figures.get("early_data")),
        tls=_tls(figures),
    )


def _tls(figures: Mapping[str, str]) -> TlsDetails | None:
    version, cipher, group = (figures.get(name) or None for name in ("tls_version", "tls_cipher", "tls_group"))
    if not (version or cipher or group):
        return None
    source = GroupSource.CLIENT if group else GroupSource.UNKNOWN
    return TlsDetails(version, cipher, group_name(group) if group else None, source)


def _truth(said: str | None) -> bool | None:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get((said or "").lower())


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)

"""How a fetch ended: timings, or a failure of the closed vocabulary. Pure.

Exit codes and their meaning are curl's (curl(1), EXIT CODES; libcurl-errors(3)).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lastbyte.adapters.client_output import RESUMED_HEADER, Report
from lastbyte.domain.client import Client, Memory, Parser
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.trial import Failure, FailureKind, Timings

CURL_EXIT_KINDS: dict[int, FailureKind] = {
    1: FailureKind.PROTOCOL,  # unsupported protocol
    4: FailureKind.PROTOCOL,  # feature not built in
    5: FailureKind.DNS,  # could not resolve proxy
    6: FailureKind.DNS,  # could not resolve host
    7: FailureKind.REFUSED,  # failed to connect
    8: FailureKind.PROTOCOL,  # weird server reply
    16: FailureKind.PROTOCOL,  # HTTP/2 framing layer
    18: FailureKind.SHORT_BODY,  # partial file
    28: FailureKind.TIMEOUT,  # operation timed out
    35: FailureKind.TLS,  # TLS handshake failed
    51: FailureKind.TLS,  # peer's certificate (before 7.62)
    52: FailureKind.RESET,  # nothing was returned
    53: FailureKind.TLS,  # crypto engine not found
    54: FailureKind.TLS,  # crypto engine not set
    55: FailureKind.RESET,  # failed sending
    56: FailureKind.RESET,  # failed receiving
    58: FailureKind.TLS,  # local certificate
    59: FailureKind.TLS,  # cipher
    60: FailureKind.TLS,  # peer certificate can't be authenticated
    64: FailureKind.TLS,  # requested TLS level failed
    66: FailureKind.TLS,  # TLS engine
    77: FailureKind.TLS,  # CA file can't be read
    80: FailureKind.TLS,  # TLS shutdown
    82: FailureKind.TLS,  # CRL file
    83: FailureKind.TLS,  # issuer check
    90: FailureKind.TLS,  # pinned key mismatch
    91: FailureKind.TLS,  # certificate status
    92: FailureKind.RESET,  # HTTP/2 stream error
    95: FailureKind.RESET,  # HTTP/3 layer error
    96: FailureKind.REFUSED,  # QUIC connect error; see _quic_connect
}
"""What each exit code means when nothing says more; codes that are not here are ``unknown``."""

_TEXT_KINDS = (
    (re.compile(r"browser crashed", re.IGNORECASE), FailureKind.CLIENT_CRASH),
    (
        re.compile(r"connect(ion)? timed out|handshake (timed out|did not complete in time)", re.IGNORECASE),
        FailureKind.CONNECT_TIMEOUT,
    ),
    (re.compile(r"protocol mismatch|no application protocol|0-RTT rejected", re.IGNORECASE), FailureKind.PROTOCOL),
    (re.compile(r"certificate|\bTLS alert\b|handshake fail|SSL routines", re.IGNORECASE), FailureKind.TLS),
    (re.compile(r"refused|unreachable|no route to host", re.IGNORECASE), FailureKind.REFUSED),
    (
        re.compile(r"reset by peer|connection reset|broken pipe|stream (error|was reset)", re.IGNORECASE),
        FailureKind.RESET,
    ),
    (re.compile(r"could not resolve|name or service not known|no such host", re.IGNORECASE), FailureKind.DNS),
    (re.compile(r"time[d]?[ -]?out|deadline exceeded", re.IGNORECASE), FailureKind.TIMEOUT),
    (re.compile(r"unexpected EOF|short body|partial file", re.IGNORECASE), FailureKind.SHORT_BODY),
)
_RESUMED = {"yes": True, "true": True, "no": False, "false": False}
_MAX_DETAIL = 2000


@dataclass(frozen=True, slots=True)
class Ended:
    """How the client's process ended."""

    exit_code: int
    """Exit status; the negative signal number when a signal ended it."""
    stderr: str
    killed: bool
    """True when the hard limit ended it, not the client itself."""
    interrupted: bool = False
    """True when the worker ended it."""
    launchers: tuple[str, ...] = ()
    """Names of the programs that start the client in its namespace (``nsenter``), which may fail themselves."""
    body_sha256: str | None = None
    """Digest of the body, where the client hands it over."""


def judge(
    client: Client, report: Report | None, ended: Ended, endpoint: Endpoint
) -> tuple[Timings | None, Failure | None]:
    """Timings, or why there are none; exactly one of the two is set. ``endpoint`` may state its body."""
    kind = _kind(client, report, ended, endpoint)
    if isinstance(kind, Timings):
        return kind, None
    what, why = kind
    error = report.error if report else ""
    said = [why, error or ended.stderr.strip()]  # curl's stderr repeats its error and adds advice
    detail = "; ".join(dict.fromkeys(text for text in said if text))
    return None, Failure(what, detail[:_MAX_DETAIL] or f"exit code {ended.exit_code}")


def _kind(client: Client, report: Report | None, ended: Ended, endpoint: Endpoint) -> Timings | tuple[FailureKind, str]:
    if ended.interrupted:
        return FailureKind.UNKNOWN, "ended by the worker before the fetch was over"
    if ended.killed:
        return FailureKind.TIMEOUT, "killed: still running at the hard limit"
    if ended.exit_code < 0:
        return FailureKind.CLIENT_CRASH, f"died by signal {-ended.exit_code}"
    if ended.exit_code != 0:
        return _failed(client, report, ended)
    if report is None:
        return FailureKind.UNKNOWN, "exit code 0, but its output can't be read"
    return _checked(client, report, endpoint, ended.body_sha256)


def _failed(client: Client, report: Report | None, ended: Ended) -> tuple[FailureKind, str]:
    why = f"exit code {ended.exit_code}"
    if any(ended.stderr.startswith(f"{launcher}:") for launcher in ended.launchers):
        not_started = "failed to execute" in ended.stderr
        return (FailureKind.CLIENT_CRASH if not_started else FailureKind.PATH_LOST), why
    if client.parser != Parser.CURL_JSON:
        if report is not None and report.status is not None and report.status != 200:  # as curl --fail ends
            return FailureKind.HTTP_STATUS, f"status {report.status}; {why}"
        return _from_text(ended.stderr), why
    if "installed libcurl version does not support this" in ended.stderr:
        return FailureKind.PROTOCOL, why
    return _curl_kind(ended.exit_code, report or Report(), ended.stderr), why


def _curl_kind(exit_code: int, report: Report, stderr: str) -> FailureKind:
    kind = CURL_EXIT_KINDS.get(exit_code, FailureKind.UNKNOWN)
    text = f"{report.error} {stderr}"
    answered = report.status is not None
    if kind is FailureKind.TIMEOUT and report.handshake_s is None:
        return FailureKind.CONNECT_TIMEOUT
    if kind is FailureKind.SHORT_BODY and "reset" in text:
        return FailureKind.RESET  # over HTTP/3 curl calls a reset stream a partial file, over HTTP/2 an error (92)
    if exit_code in (7, 35, 95, 96) and not answered:
        said = _from_text(text)
        if said is FailureKind.TIMEOUT:
            return FailureKind.CONNECT_TIMEOUT if report.handshake_s is None else FailureKind.TIMEOUT
        return kind if said in (FailureKind.UNKNOWN, FailureKind.DNS) else said
    if answered and kind in (FailureKind.REFUSED, FailureKind.PROTOCOL):
        return FailureKind.RESET  # there was an answer, so the connection stood and then broke
    return kind


def _from_text(text: str) -> FailureKind:
    return next((kind for pattern, kind in _TEXT_KINDS if pattern.search(text)), FailureKind.UNKNOWN)


def _checked(
    client: Client, report: Report, endpoint: Endpoint, sha256: str | None
) -> Timings | tuple[FailureKind, str]:
    """What must hold of a fetch that the client calls a success; what it does not report is not asserted."""
    wanted = client.protocol.http_version
    if report.http_version is not None and report.http_version != wanted:
        return FailureKind.PROTOCOL, f"asked for HTTP/{wanted}, got HTTP/{report.http_version}"
    if report.status is not None and report.status != 200:
        return FailureKind.HTTP_STATUS, f"status {report.status}"
    remembered = _not_as_told(client.memory, report)
    if remembered:
        return FailureKind.PROTOCOL, remembered
    wrong_body = _body_not_as_stated(report, endpoint, sha256)
    if wrong_body:
        return wrong_body
    if report.ttlb_s is None:
        return FailureKind.UNKNOWN, "the client reported no time to last byte"
    return _timings(report, report.ttlb_s)


def _not_as_told(memory: Memory | None, report: Report) -> str:
    """How the fetch remembered more or less of a request before than its arm is for; empty when it did not."""
    if memory is Memory.REUSE:
        return f"{report.connections} new connections: the open one was not used" if report.connections else ""
    if report.connections == 0:
        return "an open connection was used, which this arm must not"
    for who, resumed in (("server", _RESUMED.get(report.headers.get(RESUMED_HEADER, ""))), ("client", report.resumed)):
        if resumed is not None and resumed is not (memory is not None):
            return f"the {who} {'resumed a' if resumed else 'did not resume the'} TLS session"
    return _early_data_not_as_told(memory, report)


def _early_data_not_as_told(memory: Memory | None, report: Report) -> str:
    early = report.early_data_bytes or 0
    if memory is Memory.EARLY_DATA:
        refused = report.early_data is False or (report.early_data_bytes is not None and early <= 0)
        return "no early data was accepted" if refused else ""
    if early or report.early_data:
        return f"{early or 'some'} bytes of early data, which this arm must not send"
    return ""


def _body_not_as_stated(report: Report, endpoint: Endpoint, sha256: str | None) -> tuple[FailureKind, str] | None:
    for name, size in (("expected", endpoint.expected_bytes), ("announced", report.announced_bytes)):
        if size is not None and report.body_bytes is not None and report.body_bytes != size:
            return FailureKind.SHORT_BODY, f"{report.body_bytes} bytes came, {size} were {name}"
    if sha256 is not None and endpoint.expected_sha256 not in (None, sha256):
        return FailureKind.WRONG_BODY, f"a body with SHA-256 {sha256} came, {endpoint.expected_sha256} was expected"
    return None


def _timings(report: Report, ttlb_s: float) -> Timings | tuple[FailureKind, str]:
    handshake, first = (None if time is None else time - report.start_s for time in (report.handshake_s, report.ttfb_s))
    last = ttlb_s - report.start_s
    known = [time for time in (handshake, first, last) if time is not None]
    if known[0] < 0 or known != sorted(known) or last <= 0:
        said = ", ".join(f"{time * 1000:.3f} ms" for time in known)
        return FailureKind.UNKNOWN, f"the client's times are not in order: {said}"
    return Timings(handshake, first, last)

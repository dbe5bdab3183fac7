"""qlog as the clients write it: version 0.3 (ngtcp2) and the newer draft with ``file_schema`` (quiche), both JSON-SEQ.

draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lastbyte.adapters.traces.quic import QuicEvent, quic_trace
from lastbyte.domain.acks import AckTrace, TraceProblem, TraceUnreadable

_RECORD_SEPARATOR = "\x1e"  # RFC 7464
_SEQUENTIAL = "urn:ietf:params:qlog:file:sequential"
_KNOWN_VERSIONS = ("0.3", "0.4")
_NAMESPACES = ("transport", "quic")


def qlog_trace(data: bytes) -> AckTrace:
    """Acknowledgements in a client's qlog; raises TraceUnreadable."""
    records = _records(data)
    header = next(records, None)
    if header is None:
        raise TraceUnreadable(TraceProblem.NOT_A_QLOG, "The qlog is empty.")
    version = _version(header)
    whole_ms = True
    events: list[QuicEvent] = []
    start_ms: float | None = None
    rtt_ms: float | None = None
    for at_ms, name, body in _events(header, records):
        if name not in ("packet_sent", "packet_received"):
            continue
        whole_ms = whole_ms and at_ms == int(at_ms)
        if start_ms is None:
            if name != "packet_sent":
                raise TraceUnreadable(TraceProblem.NO_CONNECTION, "The qlog does not begin with what the client sent.")
            start_ms = at_ms
        elif rtt_ms is None and name == "packet_received":
            rtt_ms = at_ms - start_ms
        event = _event(at_ms - start_ms, body, received=name == "packet_received")
        if event is not None:
            events.append(event)
    note = "Its client writes times in whole milliseconds." if whole_ms and events else ""
    return quic_trace(events, f"qlog {version}", rtt_ms, note)


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    """JSON texts one by one; a last one that was cut off by the end of the client is passed over."""
    lines = [line for line in data.decode("utf-8", "replace").replace(_RECORD_SEPARATOR, "").splitlines() if line]
    for number, line in enumerate(lines):
        try:
            record = json.loads(line)
        except ValueError as exc:
            if number and number == len(lines) - 1:
                return
            detail = f"The qlog is not JSON text sequences: line {number + 1} is not JSON."
            raise TraceUnreadable(TraceProblem.NOT_A_QLOG, detail) from exc
        if not isinstance(record, dict):
            raise TraceUnreadable(TraceProblem.NOT_A_QLOG, f"Line {number + 1} of the qlog is not an object.")
        yield record


def _version(header: Mapping[str, Any]) -> str:
    if header.get("file_schema") == _SEQUENTIAL:
        schemas = _mapping(header.get("trace")).get("event_schemas") or []
        newest = next((str(item).rpartition(":")[2] for item in schemas if ":events:quic" in str(item)), "")
        return newest or "sequential"
    version = header.get("qlog_version")
    if version is None:
        raise TraceUnreadable(TraceProblem.NOT_A_QLOG, "The first record says neither qlog_version nor file_schema.")
    if version not in _KNOWN_VERSIONS or header.get("qlog_format", "JSON-SEQ") != "JSON-SEQ":
        detail = (
            f"The qlog is version {version} as {header.get('qlog_format', 'JSON')}; known here: 0.3, 0.4 and newer."
        )
        raise TraceUnreadable(TraceProblem.QLOG_VERSION, detail)
    return str(version)


def _events(
    header: Mapping[str, Any], records: Iterator[dict[str, Any]]
) -> Iterator[tuple[float, str, Mapping[str, Any]]]:
    """Time in ms, name without its namespace, and data of each event of QUIC."""
    common = _mapping(_mapping(header.get("trace")).get("common_fields"))
    is_delta = str(common.get("time_format", "")) in ("delta", "relative_to_previous_event")
    now_ms = 0.0
    for record in records:
        namespace, _, name = str(record.get("name", "")).partition(":")
        time_ms = record.get("time")
        if not isinstance(time_ms, int | float) or isinstance(time_ms, bool):
            raise TraceUnreadable(TraceProblem.NOT_A_QLOG, "An event of the qlog has no time.")
        now_ms = now_ms + time_ms if is_delta else float(time_ms)
        if namespace in _NAMESPACES:
            yield now_ms, name, _mapping(record.get("data"))


def _event(at_ms: float, body: Mapping[str, Any], *, received: bool) -> QuicEvent | None:
    header = _mapping(body.get("header"))
    number = header.get("packet_number")
    if header.get("packet_type") not in ("1RTT", "0RTT") or not isinstance(number, int):
        return None
    frames = [_mapping(frame) for frame in body.get("frames") or ()]
    try:
        streams = tuple(
            (int(frame["stream_id"]), int(frame.get("offset", 0)), _length(frame))
            for frame in frames
            if frame.get("frame_type") == "stream"
        )
        acked = tuple(
            (int(item[0]), int(item[-1]))
            for frame in frames
            if frame.get("frame_type") == "ack"
            for item in frame.get("acked_ranges") or ()
        )
    except (KeyError, TypeError, ValueError, IndexError) as exc:
        raise TraceUnreadable(TraceProblem.NOT_A_QLOG, f"A frame in the qlog can't be read: {exc!r}.") from exc
    return QuicEvent(at_ms, number, received, streams, acked)


def _length(frame: Mapping[str, Any]) -> int:
    """Up to 0.4 in ``length``, later in ``raw``."""
    raw = _mapping(frame.get("raw"))
    for value in (frame.get("length"), raw.get("payload_length"), raw.get("length")):
        if isinstance(value, int):
            return value
    raise KeyError("length")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

"""Trials as files that are written while they are sent, a piece at a time: memory does not grow with their number."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from api.schemas.common import rfc3339
from api.schemas.trials import TlsOut, TrialOut

_PLAIN_COLUMNS = [name for name in TrialOut.model_fields if name not in ("headers", "page", "proof", "tls")]
_TLS_FIELDS = list(TlsOut.model_fields)
CSV_COLUMNS = [*_PLAIN_COLUMNS, *(f"tls_{name}" for name in _TLS_FIELDS)]
ROWS_PER_CHUNK = 500
ROWS_PER_GROUP = 10_000
"""Of a Parquet file: what is held in memory, and what a reader can skip."""


def csv_lines(trials: Iterator[TrialOut]) -> Iterator[bytes]:
    """RFC 4180, with a header line."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(CSV_COLUMNS)
    while chunk := list(islice(trials, ROWS_PER_CHUNK)):
        writer.writerows(_csv_row(trial) for trial in chunk)
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def json_lines(trials: Iterator[TrialOut]) -> Iterator[bytes]:
    """One JSON object a line."""
    while chunk := list(islice(trials, ROWS_PER_CHUNK)):
        yield b"".join(trial.model_dump_json().encode() + b"\n" for trial in chunk)


def parquet(trials: Iterator[TrialOut]) -> Iterator[bytes]:
    """Apache Parquet; headers and proof as JSON text."""
    import pyarrow as pa  # noqa: PLC0415 - half a second to import, wanted by this alone
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema = pa.schema([(name, _arrow_type(name, pa)) for name in TrialOut.model_fields])
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        while group := list(islice(trials, ROWS_PER_GROUP)):
            columns = {name: [_arrow_value(getattr(trial, name)) for trial in group] for name in schema.names}
            writer.write_table(pa.table(columns, schema=schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """Takes what is written and gives it away."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._written += len(part)
        return len(part)

    def tell(self) -> int:
        return self._written

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _arrow_type(name: str, pa: Any) -> Any:
    if name == "started_at":
        return pa.timestamp("us", tz="UTC")
    annotation = str(TrialOut.model_fields[name].annotation)
    for word, kind in (("bool", pa.bool_()), ("int", pa.int64()), ("float", pa.float64())):
        if word in annotation:
            return kind
    return pa.string()


def _arrow_value(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(value)
    return value.model_dump_json() if hasattr(value, "model_dump_json") else value


def _csv_row(trial: TrialOut) -> list[Any]:
    tls = [getattr(trial.tls, name) if trial.tls else None for name in _TLS_FIELDS]
    return [_csv_value(value) for value in [*(getattr(trial, column) for column in _PLAIN_COLUMNS), *tls]]


def _csv_value(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return rfc3339(value)
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value  # or a spreadsheet would run what a server sent as a formula
    return value

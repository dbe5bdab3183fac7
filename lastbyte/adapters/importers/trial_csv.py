"""Trials of a campaign as CSV (RFC 4180), written and read: what ``GET /campaigns/{id}/trials.csv`` gives.

A CSV holds names only: what an endpoint, profile or client is comes from the catalogue of this machine. Times are in
milliseconds, so the last digit of a time in seconds may differ after a round trip; JSON lines and capsules are exact.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lastbyte.adapters.importers.files import Unreadable
from lastbyte.adapters.importers.timings import is_network, profile_of
from lastbyte.adapters.importers.trial_lines import trial_from_values
from lastbyte.domain.client import AA_SUFFIX, Client, again, is_aa
from lastbyte.domain.endpoint import Endpoint, endpoint_for_url
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import Trial
from lastbyte.ports import TrialRecord
from lastbyte.services.imported import BadPlace, ImportedCell, ImportedResults

FORMAT = "trials-csv"

COLUMNS = (
    "id", "cell_id", "endpoint", "profile", "client", "round", "position", "warmup", "capture", "started_at", "outcome",
    "failure_detail", "handshake_ms", "ttfb_ms", "ttlb_ms", "elapsed_ms", "exit_code", "http_status", "http_version",
    "body_bytes", "body_sha256", "remote_address", "client_version", "client_sha256", "unproven_reason",
    "tls_version", "tls_cipher", "tls_group", "tls_group_source",
)  # fmt: skip
NEEDED = ("endpoint", "profile", "client", "round", "outcome", "ttlb_ms")

_TIMES = ("handshake", "ttfb", "ttlb", "elapsed")
_WHOLE = ("round", "position", "exit_code", "http_status", "body_bytes")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_rows(trials: Iterable[TrialRecord]) -> Iterator[str]:
    """The rows of a campaign, each with its line end; the same bytes as the API's."""
    yield _row(COLUMNS)
    for record in trials:
        yield _row([_value(value) for value in _values(record)])


def read_rows(
    text: str,
    file: str,
    endpoints: Sequence[Endpoint],
    profiles: Mapping[str, Profile],
    clients: Sequence[Client],
) -> ImportedResults:
    """The results of such a file, with names looked up in the catalogue. Bad rows are listed by line.

    Raises Unreadable for a file without its columns, and for one that ends within a row.
    """
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = _header(rows, text)
    known_endpoints, known_clients = {e.id: e for e in endpoints}, {c.id: c for c in clients}
    trials: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    found_profiles: dict[str, Profile] = {}
    seen: set[tuple[str, str, int, str]] = set()
    used: dict[str, Client] = {}
    bad: list[BadPlace] = []
    try:
        for cells in rows:
            place = f"line {rows.line_num}"
            try:
                data = _flat(cells, header, place)
                endpoint = _endpoint(data["endpoint"], known_endpoints, place)
                known_endpoints[endpoint.id] = endpoint
                client = _client(data["client"], known_clients, place)
                found_profiles[data["profile"]] = _profile(data["profile"], profiles, place)
                trial = trial_from_values(data, place)
            except Unreadable as exc:
                bad.append(BadPlace(file, exc.place, exc.reason))
                continue
            key = (endpoint.id, data["profile"], trial.round_index, trial.client_id)
            if key in seen:
                bad.append(BadPlace(file, place, "is the same endpoint, profile, round and client as a row before."))
                continue
            seen.add(key)
            used.setdefault(client.id, client)
            trials[endpoint.id, data["profile"]].append(trial)
    except csv.Error as exc:
        raise Unreadable(f"line {rows.line_num}", f"is not CSV: {exc}.") from exc
    return ImportedResults(
        FORMAT,
        file,
        tuple(sorted(used.values(), key=lambda item: (item.protocol, item.id))),
        tuple(
            ImportedCell(known_endpoints[endpoint], found_profiles[profile], tuple(items))
            for (endpoint, profile), items in trials.items()
        ),
        interleaved=True,
        bad=tuple(bad),
        notes=(
            "Imported from a CSV, which carries no proof of the link.",
            "What its endpoints, profiles and clients are was looked up in this machine's catalogue.",
        ),
    )


def _header(rows: Iterator[list[str]], text: str) -> list[str]:
    try:
        header = next(rows, [])
    except csv.Error as exc:
        raise Unreadable("line 1", f"is not CSV: {exc}.") from exc
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise Unreadable("line 1", f"lacks the columns {', '.join(missing)}; is this lastbyte's trials.csv?")
    if len(set(header)) != len(header):
        raise Unreadable("line 1", "names a column twice.")
    if not text.endswith("\n"):
        raise Unreadable(f"line {text.count(chr(10)) + 1}", "the file is truncated: its last line has no end.")
    return header


def _flat(cells: list[str], header: list[str], place: str) -> dict[str, Any]:
    if len(cells) != len(header):
        raise Unreadable(place, f"has {len(cells)} fields where the header has {len(header)}.")
    raw = {name: _plain(value) for name, value in zip(header, cells, strict=True)}
    data: dict[str, Any] = {name: value or None for name, value in raw.items()}
    for name in _WHOLE:
        data[name] = _int(raw.get(name, ""), f"{place}: {name}")
    for name in _TIMES:
        value = raw.get(f"{name}_ms", "")
        data[f"{name}_s"] = _float(value, f"{place}: {name}_ms") / 1000 if value else None
    source = data.get("tls_group_source")
    known = {name: data.get(f"tls_{name}") for name in ("version", "cipher", "group")}
    data["tls"] = {**known, "group_source": source} if source else None
    data["position"], data["exit_code"] = data["position"] or 0, data["exit_code"] or 0
    data["started_at"] = data.get("started_at") or datetime.now(UTC).isoformat()
    for name in ("endpoint", "profile", "client", "round"):
        if data[name] is None:
            raise Unreadable(f"{place}: {name}", "is empty.")
    return data


def _known(name: str, known: Mapping[str, Any], kind: str, place: str) -> Any:
    if name not in known:
        raise Unreadable(
            f"{place}: {kind}", f"{name!r} is not in this machine's catalogue; JSON lines carry their own."
        )
    return known[name]


def _endpoint(name: str, known: Mapping[str, Endpoint], place: str) -> Endpoint:
    if "://" not in name:
        found: Endpoint = _known(name, known, "endpoint", place)
        return found
    try:
        return known[name] if name in known else endpoint_for_url(name, list(known.values()))
    except InvalidInput as exc:
        raise Unreadable(f"{place}: endpoint", exc.message) from exc


def _client(name: str, known: Mapping[str, Client], place: str) -> Client:
    if is_aa(name):
        return again(_client(name.removesuffix(AA_SUFFIX), known, place))
    found: Client = _known(name, known, "client", place)
    return found


def _profile(name: str, profiles: Mapping[str, Profile], place: str) -> Profile:
    if name not in profiles and is_network(name):
        return profile_of(name)
    found: Profile = _known(name, profiles, "profile", place)
    return found


def _int(value: str, place: str) -> int | None:
    if not value:
        return None
    try:
        return int(value)
    except ValueError as exc:
        raise Unreadable(place, f"{value[:40]!r} is not a whole number.") from exc


def _float(value: str, place: str) -> float:
    try:
        return float(value)
    except ValueError as exc:
        raise Unreadable(place, f"{value[:40]!r} is not a number.") from exc


def _plain(value: str) -> str:
    # the writer puts an apostrophe before what a spreadsheet would run as a formula
    return value[1:] if value.startswith("'") and value[1:].startswith(_FORMULA) else value


def _row(values: Iterable[object]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow(values)
    return buffer.getvalue()


def _value(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value


def _values(record: TrialRecord) -> list[object]:
    trial, seen = record.trial, record.trial.observation
    timings = seen.timings
    times = (timings.handshake_s, timings.ttfb_s, timings.ttlb_s) if timings else (None, None, None)
    return [
        record.id,
        record.cell_id,
        record.endpoint_id,
        record.profile_name,
        trial.client_id,
        trial.round_index,
        trial.position,
        trial.is_warmup,
        trial.is_capture,
        seen.started_at,
        seen.failure.kind.value if seen.failure else "ok",
        seen.failure.detail if seen.failure else None,
        *(None if time is None else time * 1000 for time in times),
        seen.elapsed_s * 1000,
        seen.exit_code,
        seen.http_status,
        seen.http_version,
        seen.body_bytes,
        seen.body_sha256,
        seen.remote_address,
        record.build.short_version if record.build else None,
        record.build.sha256 if record.build else None,
        trial.unproven_reason or None,
        *(dataclasses.astuple(seen.tls) if seen.tls else (None,) * 4),
    ]

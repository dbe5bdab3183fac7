"""Trials of a campaign as JSON lines, written and read: exact, self-contained, and never silently cut short.

The first line is a header with the campaign, its endpoints, profiles, clients and proofs; then one trial a line, times
in seconds as stored; the last line says how many there were, so that a truncated file is noticed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from lastbyte.adapters.importers.files import Unreadable, finite_number, parse_json
from lastbyte.adapters.postgres import codec
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.errors import LastbyteError
from lastbyte.domain.trial import Failure, FailureKind, Observation, Timings, Trial
from lastbyte.ports import CampaignRecord, CellProof, CellRecord, TrialRecord
from lastbyte.services.imported import BadPlace, ImportedCell, ImportedResults

Parsed = TypeVar("Parsed")
FORMAT = "trials-jsonl"
FORMAT_LINE = "lastbyte-trials/1"

_BUILD = TypeAdapter(ClientBuild)
_FLOATS = ("handshake_s", "ttfb_s", "ttlb_s", "elapsed_s")
_MAX_INT = 2**31 - 1


def write_lines(
    campaign: CampaignRecord, clients: Iterable[Client], cells: Iterable[CellRecord], trials: Iterable[TrialRecord]
) -> Iterator[str]:
    """The lines of a campaign, each with its newline."""
    cells = list(cells)
    place = {cell.cell_id: index for index, cell in enumerate(cells)}
    yield _line(
        {
            "format": FORMAT_LINE,
            "campaign": {
                "id": campaign.id,
                "name": campaign.spec.name,
                "rounds": campaign.spec.rounds,
                "seed": campaign.spec.seed,
                "vantage": campaign.spec.vantage,
            },
            "clients": [codec.client_to_json(client) for client in clients],
            "cells": [
                {
                    "endpoint": codec.endpoint_to_json(cell.endpoint),
                    "profile": codec.profile_to_json(cell.profile),
                    "proof": codec.cell_proof_to_json(cell.proof) if cell.proof else None,
                }
                for cell in cells
            ],
        }
    )
    count = 0
    for record in trials:
        count += 1
        yield _line(_trial_to_json(record, place[record.cell_id]))
    yield _line({"end": count})


def read_lines(lines: Iterable[str], file: str) -> ImportedResults:
    """The results of such a file. Bad trials are listed by line; a bad header or end is Unreadable.

    Raises Unreadable also for a file that was cut short, whatever else is in it.
    """
    numbered = iter(enumerate(lines, start=1))
    header = _header(numbered)
    clients, cells = _frozen(header)
    read = _Trials(file, len(cells), {client.id for client in clients})
    for number, line in numbered:
        if not read.take(f"line {number}", line):
            break
    if read.end is None:
        raise Unreadable(f"line {read.count + 2}", "the file is truncated: its end line is missing.")
    if read.end != read.count:
        said_and_there = f"{read.end!r} trials said, {read.count} there"
        raise Unreadable("end line", f"the file is truncated or was edited: {said_and_there}.")
    said = header.get("campaign")
    campaign: dict[str, Any] = said if isinstance(said, dict) else {}
    return ImportedResults(
        FORMAT,
        file,
        tuple(clients),
        tuple(
            replace(cell, trials=tuple(read.trials[index]), proof=_with_builds(cell.proof, read.builds[index]))
            for index, cell in enumerate(cells)
            if read.trials[index]
        ),
        interleaved=True,
        bad=tuple(read.bad),
        notes=("Imported from lastbyte's own export; proofs are those of the campaign it came from.",),
        seed=_whole(campaign, "seed", "line 1: campaign", 2**63 - 1),
        rounds=_whole(campaign, "rounds", "line 1: campaign", 1000),
    )


class _Trials:
    """The trials of a file, gathered line by line."""

    def __init__(self, file: str, cells: int, clients: set[str]) -> None:
        self._file = file
        self._cells = cells
        self._clients = clients
        self._seen: set[tuple[int, int, str]] = set()
        self.trials: dict[int, list[Trial]] = defaultdict(list)
        self.builds: dict[int, dict[str, ClientBuild]] = defaultdict(dict)
        self.bad: list[BadPlace] = []
        self.count = 0
        self.end: object = None

    def take(self, place: str, line: str) -> bool:
        """One line after the header; False when it was cut, so that the end line is missing too."""
        if self.end is not None:
            raise Unreadable(place, "stands after the end line.")
        try:
            data = _object(line, place)
            if "end" in data:
                self.end = data["end"]
                return True
            self._add(data, place)
        except Unreadable as exc:
            if not line.endswith("\n"):
                return False
            self.bad.append(BadPlace(self._file, exc.place, exc.reason))
        self.count += 1
        return True

    def _add(self, data: Mapping[str, Any], place: str) -> None:
        cell, trial, build = _trial_from_json(data, place, self._cells, self._clients)
        key = (cell, trial.round_index, trial.client_id)
        if key in self._seen:
            raise Unreadable(place, "is the same cell, round and client as a line before.")
        self._seen.add(key)
        self.trials[cell].append(trial)
        if build is not None:
            self.builds[cell][trial.client_id] = build


def trial_from_values(data: Mapping[str, Any], place: str) -> Trial:
    """A trial from flat values (times in seconds), shared with the CSV reader; raises Unreadable naming the field."""
    outcome = data.get("outcome")
    kinds = {kind.value for kind in FailureKind}
    if not isinstance(outcome, str) or (outcome != "ok" and outcome not in kinds):
        raise Unreadable(f"{place}: outcome", f"{outcome!r} is none of ok, {', '.join(sorted(kinds))}.")
    times = {name: _seconds(data.get(name), f"{place}: {name}") for name in _FLOATS}
    ttlb_s = times["ttlb_s"]
    if (ttlb_s is not None) != (outcome == "ok"):
        raise Unreadable(f"{place}: ttlb", "is missing." if outcome == "ok" else f"a {outcome} trial has none.")
    if ttlb_s is not None and ttlb_s <= 0:
        raise Unreadable(f"{place}: ttlb", f"{ttlb_s!r} is not a time above zero.")
    headers = data.get("headers") or {}
    if not isinstance(headers, dict) or not all(isinstance(v, str) for v in headers.values()):
        raise Unreadable(f"{place}: headers", "is not an object of text.")
    failed = ttlb_s is None
    observation = Observation(
        started_at=_moment(data.get("started_at"), f"{place}: started_at"),
        timings=None if ttlb_s is None else Timings(times["handshake_s"], times["ttfb_s"], ttlb_s),
        failure=Failure(FailureKind(outcome), _text(data, "failure_detail", place) or "") if failed else None,
        exit_code=_whole(data, "exit_code", place, _MAX_INT, -_MAX_INT),
        http_status=_optional_whole(data, "http_status", place, _MAX_INT),
        http_version=_text(data, "http_version", place),
        body_bytes=_optional_whole(data, "body_bytes", place, 2**62),
        body_sha256=_text(data, "body_sha256", place),
        tls=_parsed(codec.tls_from_json, data.get("tls"), f"{place}: tls"),
        remote_address=_text(data, "remote_address", place),
        elapsed_s=times["elapsed_s"] or 0.0,
        headers=headers,
        page=_parsed(codec.page_from_json, data.get("proof"), f"{place}: proof.page"),
    )
    client = _text(data, "client", place)
    if not client:
        raise Unreadable(f"{place}: client", "is missing.")
    return Trial(
        round_index=_whole(data, "round", place, 1_000_000, -1000),
        client_id=client,
        position=_whole(data, "position", place, 32_000),
        observation=observation,
        proof=_parsed(codec.link_proof_from_json, data.get("proof"), f"{place}: proof"),
        unproven_reason=_text(data, "unproven_reason", place) or "",
    )


def _line(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _trial_to_json(record: TrialRecord, cell: int) -> dict[str, Any]:
    trial, seen = record.trial, record.trial.observation
    timings = seen.timings
    return {
        "cell": cell,
        "client": trial.client_id,
        "round": trial.round_index,
        "position": trial.position,
        "started_at": seen.started_at.astimezone(UTC).isoformat(),
        "outcome": seen.failure.kind.value if seen.failure else "ok",
        "failure_detail": seen.failure.detail if seen.failure else None,
        "handshake_s": timings.handshake_s if timings else None,
        "ttfb_s": timings.ttfb_s if timings else None,
        "ttlb_s": timings.ttlb_s if timings else None,
        "elapsed_s": seen.elapsed_s,
        "exit_code": seen.exit_code,
        "http_status": seen.http_status,
        "http_version": seen.http_version,
        "body_bytes": seen.body_bytes,
        "body_sha256": seen.body_sha256,
        "tls": codec.tls_to_json(seen.tls),
        "remote_address": seen.remote_address,
        "headers": dict(seen.headers),
        "proof": codec.trial_proof_to_json(trial),
        "unproven_reason": trial.unproven_reason,
        "build": _BUILD.dump_python(record.build, mode="json") if record.build else None,
    }


def _trial_from_json(
    data: Mapping[str, Any], place: str, cells: int, clients: set[str]
) -> tuple[int, Trial, ClientBuild | None]:
    cell = _whole(data, "cell", place, cells - 1)
    trial = trial_from_values(data, place)
    if trial.client_id not in clients:
        raise Unreadable(f"{place}: client", f"{trial.client_id!r} is not in the header.")
    try:
        return cell, trial, None if data.get("build") is None else _BUILD.validate_python(data["build"])
    except ValidationError as exc:
        raise Unreadable(f"{place}: build", f"can't be used: {_first(exc)}") from exc


def _header(numbered: Iterator[tuple[int, str]]) -> dict[str, Any]:
    first = next(numbered, None)
    if first is None:
        raise Unreadable("line 1", "the file is empty.")
    header = _object(first[1], "line 1")
    said = header.get("format")
    if said != FORMAT_LINE:
        raise Unreadable("line 1: format", f"{said!r} is not {FORMAT_LINE}, the one that this version reads.")
    return header


def _frozen(header: Mapping[str, Any]) -> tuple[list[Client], list[ImportedCell]]:
    try:
        clients = [codec.client_from_json(item) for item in header["clients"]]
        cells = []
        for item in header["cells"]:
            endpoint, profile = codec.endpoint_from_json(item["endpoint"]), codec.profile_from_json(item["profile"])
            profile.validate()
            cells.append(ImportedCell(endpoint, profile, (), codec.cell_proof_from_json(item.get("proof"))))
    except ValidationError as exc:
        raise Unreadable("line 1", f"the header can't be used: {_first(exc)}") from exc
    except (LastbyteError, KeyError, TypeError, AttributeError) as exc:
        raise Unreadable("line 1", f"the header can't be used: {exc!s}") from exc
    return clients, cells


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        data = parse_json(line)
    except Unreadable as exc:
        raise Unreadable(place, exc.reason) from exc
    if not isinstance(data, dict):
        raise Unreadable(place, "is not a JSON object.")
    return data


def _with_builds(proof: CellProof | None, builds: Mapping[str, ClientBuild]) -> CellProof | None:
    return replace(proof, builds=dict(builds)) if proof else None


def _parsed(parse: Callable[[Any], Parsed], data: object, place: str) -> Parsed:
    try:
        return parse(data)
    except (ValidationError, TypeError) as exc:
        why = _first(exc) if isinstance(exc, ValidationError) else "it is no object"
        raise Unreadable(place, f"can't be used: {why}") from exc


def _first(exc: ValidationError) -> str:
    error = exc.errors()[0]
    where = ".".join(str(part) for part in error["loc"])
    return f"{where}: {error['msg']}" if where else error["msg"]


def _seconds(value: object, place: str) -> float | None:
    if value is None:
        return None
    number = finite_number(value, place)
    if not 0 <= number <= 1e6:
        raise Unreadable(place, f"{number!r} s is out of range (0 to 1000000).")
    return number


def _moment(value: object, place: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is not None:
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise Unreadable(place, f"{value!r} is not an ISO 8601 time.") from exc
    raise Unreadable(place, "is missing.")


def _text(data: Mapping[str, Any], name: str, place: str) -> str | None:
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise Unreadable(f"{place}: {name}", f"{value!r} is not text.")
    return value


def _optional_whole(data: Mapping[str, Any], name: str, place: str, highest: int) -> int | None:
    return None if data.get(name) is None else _whole(data, name, place, highest)


def _whole(data: Mapping[str, Any], name: str, place: str, highest: int, lowest: int = 0) -> int:
    value = data.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unreadable(f"{place}: {name}", f"{value!r} is not a whole number.")
    if not lowest <= value <= highest:
        raise Unreadable(f"{place}: {name}", f"{value} is out of range ({lowest} to {highest}).")
    return value

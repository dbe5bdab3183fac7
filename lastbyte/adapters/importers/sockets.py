"""Reader of socket samples of a node.js study of QUIC against TCP+TLS.

``samples_threshold<T>_dev<D>_delay<MS>/<quic|tcp>/remote/<timestamp>/`` holds ``<proto>-benchmark-server.json`` with
``events`` (ISO times by label) and ``durations.handshakeDurationInNs``, the client's JSON, ``ping.json``, a capture
and a key log. The numbers come from the server's file; the other JSON files must be whole when they are there.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lastbyte.adapters.importers.files import Unreadable, finite_number, folders, parse_json, read_text
from lastbyte.domain.client import Protocol
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.trial import Observation, Timings, Trial
from lastbyte.services.imported import BadPlace, ImportedCell, ImportedResults, foreign_client
from lastbyte.services.phases import SocketSample

FORMAT = "socket-samples"

SHORTEST_HANDSHAKE_NS = 100_000.0
"""No TLS handshake over a network ends in 0.1 ms: a smaller number is in other units than nanoseconds."""
LONGEST_HANDSHAKE_NS = 600e9

NOTES = (
    "Imported: nobody proved the link of these results, and they hold no failures.",
    "Sockets without HTTP, seen from the server: tcp stands in H2's place, quic in H3's.",
    "TTLB is handshake + time to first byte + content transfer; the close phase is left to lastbyte report phases.",
)

_FOLDER = re.compile(r"samples_threshold(?P<t>\d+(?:\.\d+)?)_dev(?P<d>\d+(?:\.\d+)?)_delay(?P<delay>\d+(?:\.\d+)?)")
_EVENTS = ("secure", "data", "streamEnd", "socketClose")


@dataclass(frozen=True, slots=True)
class Samples:
    """What was read below a folder."""

    samples: tuple[SocketSample, ...]
    bad: tuple[BadPlace, ...]


def is_samples(name: str) -> bool:
    """Whether a folder's name is one of such samples."""
    return _FOLDER.fullmatch(name) is not None


def parse_sample(text: str, protocol: str, delay_ms: float) -> SocketSample:
    """One server file; raises Unreadable naming the field."""
    document = parse_json(text)
    events = _table(_table(document, "line 1").get("events"), "events")
    durations = _table(document.get("durations"), "durations")
    moments = {name: _moment(events.get(name), f"events.{name}") for name in _EVENTS}
    for earlier, later in itertools.pairwise(_EVENTS):
        if moments[later] < moments[earlier]:
            raise Unreadable(f"events.{later}", f"comes before {earlier}.")
    ttfb_ms, transfer_ms, close_ms = (
        (moments[later] - moments[earlier]).total_seconds() * 1000 for earlier, later in itertools.pairwise(_EVENTS)
    )
    return SocketSample(
        protocol=protocol,
        delay_ms=delay_ms,
        started_at=moments["secure"],
        handshake_ms=_handshake_ns(durations.get("handshakeDurationInNs")) / 1e6,
        ttfb_ms=ttfb_ms,
        transfer_ms=transfer_ms,
        socket_close_ms=close_ms,
    )


def read_samples(folder: Path) -> Samples:
    """All samples below ``folder`` (or of the one set of samples that it is), by time within each protocol."""
    samples: list[SocketSample] = []
    bad: list[BadPlace] = []
    for group in [folder] if is_samples(folder.name) else folders(folder):
        match = _FOLDER.fullmatch(group.name)
        if match is None:
            bad.append(BadPlace(str(group), "folder name", "is not like samples_threshold5_dev2_delay0."))
            continue
        delay_ms = float(match["delay"])
        if delay_ms > 10_000:
            bad.append(BadPlace(str(group), "folder name", f"a delay of {delay_ms:g} ms is out of range (to 10000)."))
            continue
        for protocol in ("quic", "tcp"):
            remote = group / protocol / "remote"
            if not remote.is_dir():
                continue
            for measurement in folders(remote):
                _read_measurement(measurement, protocol, delay_ms, samples, bad)
    return Samples(tuple(samples), tuple(bad))


def read_sockets(folder: Path) -> ImportedResults:
    """The samples as trials: one endpoint, a profile per delay, node-tcp against node-quic."""
    read = read_samples(folder)
    clients = (
        foreign_client("node-tcp", Protocol.H2, "node.js TCP+TLS socket, no HTTP (imported)"),
        foreign_client("node-quic", Protocol.H3, "node.js QUIC socket, no HTTP (imported)"),
    )
    by_delay: dict[float, dict[str, list[SocketSample]]] = defaultdict(lambda: defaultdict(list))
    for sample in read.samples:
        by_delay[sample.delay_ms][sample.protocol].append(sample)
    endpoint = Endpoint(
        id="imported-node-sockets-message", provider="node-sockets", url="imported:node-sockets", size_label="message"
    )
    cells = tuple(
        ImportedCell(endpoint, _profile(delay_ms), _trials(groups)) for delay_ms, groups in sorted(by_delay.items())
    )
    return ImportedResults(FORMAT, str(folder), clients, cells, bad=read.bad, notes=NOTES)


def _read_measurement(
    folder: Path, protocol: str, delay_ms: float, samples: list[SocketSample], bad: list[BadPlace]
) -> None:
    problems = []
    for name in ("ping.json", f"{protocol}-benchmark-client.json"):
        file = folder / name
        if file.exists():
            try:
                parse_json(read_text(file))
            except Unreadable as exc:
                problems.append(exc.at(file))
    file = folder / f"{protocol}-benchmark-server.json"
    try:
        sample = parse_sample(read_text(file), protocol, delay_ms)
    except Unreadable as exc:
        problems.append(exc.at(file))
    if problems:
        bad.extend(problems)
    else:
        samples.append(sample)


def _profile(delay_ms: float) -> Profile:
    return Profile(
        name=f"imported-delay-{delay_ms:g}",
        description=f"Imported: {delay_ms:g} ms extra RTT.",
        downlink=Impairment(delay_ms=delay_ms),
    )


def _trials(groups: Mapping[str, list[SocketSample]]) -> tuple[Trial, ...]:
    trials = []
    for protocol, samples in groups.items():
        for index, sample in enumerate(sorted(samples, key=lambda item: item.started_at), start=1):
            handshake_s = sample.handshake_ms / 1000
            ttfb_s = handshake_s + sample.ttfb_ms / 1000
            ttlb_s = ttfb_s + sample.transfer_ms / 1000
            observation = Observation(
                started_at=sample.started_at,
                timings=Timings(handshake_s, ttfb_s, ttlb_s),
                failure=None,
                exit_code=0,
                elapsed_s=ttlb_s,
            )
            trials.append(Trial(index, f"node-{protocol}", 0, observation))
    return tuple(trials)


def _table(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unreadable(place, "is missing." if value is None else "is not an object.")
    return value


def _moment(value: object, place: str) -> datetime:
    if not isinstance(value, str) or not value:
        raise Unreadable(place, "is missing." if value in (None, "") else "is not a time as text.")
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise Unreadable(place, f"{value[:40]!r} is not an ISO 8601 time.") from exc


def _handshake_ns(value: object) -> float:
    place = "durations.handshakeDurationInNs"
    if value in (None, ""):
        raise Unreadable(place, "is missing.")
    try:
        number = finite_number(float(value) if isinstance(value, str) else value, place)
    except ValueError as exc:
        raise Unreadable(place, f"{str(value)[:40]!r} is not a number.") from exc
    if number <= 0:
        raise Unreadable(place, f"{number:g} is not a duration above zero.")
    if number < SHORTEST_HANDSHAKE_NS:
        raise Unreadable(place, f"wrong units: {number:g} ns is below 0.1 ms, too short for a TLS handshake.")
    if number > LONGEST_HANDSHAKE_NS:
        raise Unreadable(place, f"wrong units: {number:g} ns is above 10 minutes, too long for a TLS handshake.")
    return number

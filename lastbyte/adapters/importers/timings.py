"""Reader of quic-benchmarks' timings: ``<network>/<domain>/<size>/<client>.json``, arrays of milliseconds.

The folder names carry the meaning: ``loss-0dot1_delay-50_bw-10`` is 0.1 % loss, 50 ms of extra round-trip time and
10 Mbit/s (https://github.com/triplewy/quic-benchmarks). Nothing else is recorded there: not when a fetch ran, not
which direction was shaped, not whether a fetch failed.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from lastbyte.adapters.importers.files import Unreadable, finite_number, folders, parse_json, read_text
from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.trial import Observation, Timings, Trial
from lastbyte.services.imported import BadPlace, ImportedCell, ImportedResults, foreign_client

FORMAT = "quic-benchmarks"

SHORTEST_MS = 10.0
"""Median below which no fetch of a public web object ends, so the file can't be in milliseconds."""
LONGEST_MS = 600_000.0
"""Median above which (10 minutes) a file can't be in milliseconds: it looks like microseconds."""
NEIGHBOURS_RATIO = 100.0
"""Medians of two clients in one cell that differ by more than this are in different units."""

UNITS_RULE = (
    f"Times are in milliseconds. A file is refused as being in other units when its median is below {SHORTEST_MS:g} ms,"
    " below the extra round trip that its folder names, above 10 minutes, or more than"
    f" {NEIGHBOURS_RATIO:g} times below the other clients of its cell. Say --unit s (or ms, us) when you know better."
)

UNIT_FACTORS_MS = {"ms": 1.0, "s": 1000.0, "us": 0.001}

NOTES = (
    "Imported: nobody proved the link of these results, and they hold no failures.",
    "The clients ran one after the other, not interleaved: drift of the network is part of every difference.",
    "Loss and delay are shown as the downlink's; the files do not say the direction.",
    "The files hold no times of day: started_at of each trial is the time of the import.",
)

_NETWORK = re.compile(
    r"(?:[A-Za-z0-9]+_)?loss-(?P<loss>\d+(?:dot\d+)?)(?P<loss_kind>[a-z]*)"
    r"_delay-(?P<delay>\d+(?:dot\d+)?)(?P<delay_kind>[a-z]*)_bw-(?P<rate>\d+(?:dot\d+)?)"
)
_USABLE_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def is_network(name: str) -> bool:
    """Whether a folder's name states a network condition."""
    return _NETWORK.fullmatch(name) is not None


def profile_of(name: str) -> Profile:
    """The condition that a folder's name states; raises Unreadable."""
    match = _NETWORK.fullmatch(name)
    if match is None or len(name) > 64:
        raise Unreadable("folder name", f"{name!r} is not like loss-0dot1_delay-50_bw-10.")
    loss_pct, delay_ms, rate = (float(match[key].replace("dot", ".")) for key in ("loss", "delay", "rate"))
    kinds = [match[key] for key in ("loss_kind", "delay_kind") if match[key]]
    rate_mbit_s = rate or None
    words = [f"{loss_pct:g} % loss", f"{delay_ms:g} ms extra RTT", f"{rate:g} Mbit/s" if rate else "no rate limit"]
    if kinds:
        words.append(f"with {' and '.join(kinds)} as the folder's name says")
    profile = Profile(
        name=name,
        description=f"Imported: {', '.join(words)}.",
        downlink=Impairment(delay_ms=delay_ms, loss_pct=loss_pct, rate_mbit_s=rate_mbit_s),
        uplink=Impairment(rate_mbit_s=rate_mbit_s),
    )
    if loss_pct > 100 or delay_ms > 10_000 or (rate and not 0.01 <= rate <= 10_000):
        raise Unreadable(
            "folder name", f"{name!r} is out of range (loss to 100 %, delay to 10 s, 0.01 to 10000 Mbit/s)."
        )
    return profile


def protocol_of(client: str, overrides: Mapping[str, Protocol]) -> Protocol:
    """The protocol that a client's name tells; raises Unreadable when it tells none or both.

    ``overrides`` first; then h2 or http2 against h3 or http3 anywhere in the name; then the words quic, ngtcp2, hq
    for H3 and tcp, tls for H2.
    """
    if not _USABLE_NAME.fullmatch(client):
        raise Unreadable("file name", "is not a usable name; use letters, digits, dot, dash, underscore.")
    if client in overrides:
        return overrides[client]
    name = client.lower()
    says_h2 = "h2" in name or "http2" in name
    says_h3 = "h3" in name or "http3" in name
    if not says_h2 and not says_h3:
        words = set(re.split(r"[^a-z0-9]+", name))
        says_h3, says_h2 = bool(words & {"quic", "ngtcp2", "hq"}), bool(words & {"tcp", "tls"})
    if says_h2 == says_h3:
        tells = "both protocols" if says_h2 else "no protocol"
        raise Unreadable("file name", f"{client!r} tells {tells}; say which with --protocol {client}=h2 or =h3.")
    return Protocol.H2 if says_h2 else Protocol.H3


def parse_times(text: str, unit: str = "ms") -> list[float]:
    """The times of one file in milliseconds; raises Unreadable naming the line or the value."""
    document = parse_json(text)
    if not isinstance(document, list):
        raise Unreadable("line 1", "is not an array of times.")
    if not document:
        raise Unreadable("line 1", "the array is empty.")
    times = []
    for number, value in enumerate(document, start=1):
        place = f"value {number}"
        time = finite_number(value, place)
        if time <= 0:
            raise Unreadable(place, f"{value!r} is not a time above zero.")
        times.append(time * UNIT_FACTORS_MS[unit])
    return times


def why_wrong_units(times_ms: Sequence[float], extra_rtt_ms: float, neighbours_ms: float | None = None) -> str | None:
    """Why these can't be milliseconds, by ``UNITS_RULE``; None when they can.

    ``neighbours_ms`` is the median of the medians of the cell's other clients.
    """
    middle = statistics.median(times_ms)
    looks = f"the median is {middle:g}, which looks like"
    if middle < SHORTEST_MS:
        return f"wrong units: {looks} seconds, not milliseconds. {UNITS_RULE}"
    if middle < extra_rtt_ms:
        return f"wrong units: {looks} seconds: one round trip alone takes {extra_rtt_ms:g} ms there. {UNITS_RULE}"
    if middle > LONGEST_MS:
        return f"wrong units: {looks} microseconds, not milliseconds. {UNITS_RULE}"
    if neighbours_ms is not None and middle * NEIGHBOURS_RATIO < neighbours_ms:
        return f"wrong units: {looks} seconds beside {neighbours_ms:g} ms of the cell's other clients. {UNITS_RULE}"
    return None


def read_timings(
    folder: Path,
    overrides: Mapping[str, Protocol] | None = None,
    unit: str | None = None,
    now: datetime | None = None,
) -> ImportedResults:
    """All timings below ``folder`` (or of the one network that it is). Bad files are listed, never half taken.

    ``unit`` None: milliseconds, held against ``UNITS_RULE``; else ms, s or us, taken as said.
    """
    started_at = now or datetime.now(UTC)
    bad: list[BadPlace] = []
    clients: dict[str, Client] = {}
    cells = []
    for network in [folder] if is_network(folder.name) else folders(folder):
        try:
            profile = profile_of(network.name)
        except Unreadable as exc:
            bad.append(exc.at(network))
            continue
        for domain, size in _places(network, bad):
            times = _read_cell(size, profile, overrides or {}, unit, clients, bad)
            if times:
                trials = tuple(
                    _trial(index, client, ms, started_at)
                    for client, values in times.items()
                    for index, ms in enumerate(values, start=1)
                )
                cells.append(ImportedCell(_endpoint(domain.name, size.name), profile, trials))
    ordered = sorted(clients.values(), key=lambda client: (client.protocol, client.id))
    return ImportedResults(FORMAT, str(folder), tuple(ordered), tuple(cells), bad=tuple(bad), notes=NOTES)


def _places(network: Path, bad: list[BadPlace]) -> Iterator[tuple[Path, Path]]:
    for domain in folders(network):
        for size in folders(domain):
            odd = next((part.name for part in (domain, size) if not _USABLE_NAME.fullmatch(part.name)), None)
            if odd is None:
                yield domain, size
            else:
                reason = f"{odd!r} is not a usable name; use letters, digits, dot, dash, underscore."
                bad.append(BadPlace(str(size), "folder name", reason))


def _read_cell(
    folder: Path,
    profile: Profile,
    overrides: Mapping[str, Protocol],
    unit: str | None,
    clients: dict[str, Client],
    bad: list[BadPlace],
) -> dict[str, list[float]]:
    read: dict[str, list[float]] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            protocol = protocol_of(file.stem, overrides)
            read[file.stem] = parse_times(read_text(file), unit or "ms")
            clients.setdefault(file.stem, foreign_client(file.stem, protocol))
        except Unreadable as exc:
            bad.append(exc.at(file))
    if unit is not None:
        return read
    # first each file by itself, so that one in microseconds does not make its neighbours look like seconds
    for checked_beside in (False, True):
        medians = {client: statistics.median(times) for client, times in read.items()}
        for client in list(read):
            others = [middle for other, middle in medians.items() if other != client] if checked_beside else []
            beside = statistics.median(others) if others else None
            why = why_wrong_units(read[client], profile.extra_rtt_ms, beside)
            if why is not None:
                bad.append(BadPlace(str(folder / f"{client}.json"), "", why))
                del read[client]
    return read


def _endpoint(domain: str, size: str) -> Endpoint:
    provider = domain.lower()
    return Endpoint(
        id=f"imported-{provider}-{size}", provider=provider, url=f"imported:{provider}/{size}", size_label=size
    )


def _trial(round_index: int, client: str, ms: float, started_at: datetime) -> Trial:
    ttlb_s = ms / 1000
    observation = Observation(
        started_at=started_at, timings=Timings(None, None, ttlb_s), failure=None, exit_code=0, elapsed_s=ttlb_s
    )
    return Trial(round_index, client, 0, observation)

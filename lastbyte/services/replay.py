"""Heatmaps straight from results that were read from a folder or file, by the paper's definitions or our own.

A mode is a function from one cell's times to one square. ``yu2020`` and ``yu2021`` are the two definitions of Yu and
Benson ("Dissecting performance of production QUIC", WWW 2021, and its preprint); both pick the best of several clients
per side, which favours the side with more clients.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import size_order
from lastbyte.domain.errors import InvalidInput, UnknownName
from lastbyte.domain.profile import Profile
from lastbyte.services.imported import ImportedCell, ImportedResults
from lastbyte.services.squares import why_unproven
from lastbyte.stats import papermodes
from lastbyte.stats.paired import Verdict, compare, paired_rounds
from lastbyte.stats.unpaired import compare_unpaired

Times = Mapping[str, Sequence[float]]
"""Client -> TTLB in seconds."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a square."""

    client: str
    n: int
    mean_ms: float
    median_ms: float


@dataclass(frozen=True, slots=True)
class Square:
    """One square: H3 against H2 in percent, negative where H3 is faster; None where there is nothing to compare."""

    diff_pct: float | None
    baseline: Arm | None
    candidate: Arm | None
    shown: bool = True
    """False where the mode leaves the number out."""
    p_value: float | None = None
    ci_low_pct: float | None = None
    ci_high_pct: float | None = None
    verdict: str | None = None
    clients_pct: Mapping[str, float] | None = None
    """Client comparison of the paper modes: each H3 client in percent over the best one of the cell."""
    pairing: str | None = None
    """``rounds``: interleaved rounds; ``index``: by place in the files; ``unpaired``: two samples."""
    note: str | None = None
    """What must be said beside the number."""


CellFunction = Callable[[ImportedCell, Times, Times], Square]
"""A cell with the times of its H2 and H3 clients -> its square."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A definition of the heatmap."""

    name: str
    limit_pct: float
    """The colours run from minus to plus this."""
    caption: str
    square: CellFunction


@dataclass(frozen=True, slots=True)
class ReplayCell:
    """A square in its place."""

    size_label: str
    profile: Profile
    square: Square


@dataclass(frozen=True, slots=True)
class ReplayProvider:
    """The squares of one provider, mild conditions and small objects first."""

    provider: str
    origin: str
    cells: tuple[ReplayCell, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """A heatmap from imported results."""

    source: ImportedResults
    mode: Mode
    providers: tuple[ReplayProvider, ...]
    notes: tuple[str, ...]


def replay(results: ImportedResults, mode: Mode) -> Replay:
    """The heatmap of ``results`` by ``mode``."""
    protocols = {client.id: client.protocol for client in results.clients}
    by_provider: dict[tuple[str, str], list[ReplayCell]] = {}
    for cell in results.cells:
        times = {client: cell.ttlb_s(client) for client in protocols}
        square = mode.square(cell, _side(times, protocols, Protocol.H2), _side(times, protocols, Protocol.H3))
        place = (cell.endpoint.provider, cell.endpoint.origin.value)
        by_provider.setdefault(place, []).append(ReplayCell(cell.endpoint.size_label, cell.profile, square))
    providers = tuple(
        ReplayProvider(provider, origin, tuple(sorted(cells, key=_place)))
        for (provider, origin), cells in by_provider.items()
    )
    squares = [cell.square for provider in providers for cell in provider.cells]
    return Replay(results, mode, providers, (*results.notes, *_square_notes(squares)))


def paper_mode(name: papermodes.Mode) -> Mode:
    """One of the two definitions of the paper's scripts; Firefox is left out, as they do."""
    low, high = papermodes.SQUARE_LIMITS_PCT[name]
    function = papermodes.yu2020 if name == "yu2020" else papermodes.yu2021

    def square(_cell: ImportedCell, h2: Times, h3: Times) -> Square:
        h2, h3 = (
            {client: times for client, times in side.items() if "firefox" not in client.lower()} for side in (h2, h3)
        )
        result = function(h2, h3)
        comparison = papermodes.client_comparison(h3, name)
        return Square(
            diff_pct=result.value_pct,
            baseline=arm(result.h2_client, h2[result.h2_client]) if result.h2_client else None,
            candidate=arm(result.h3_client, h3[result.h3_client]) if result.h3_client else None,
            shown=result.label is not None,
            p_value=result.p_value,
            clients_pct={client.client: client.shown_pct for client in comparison.clients},
            note=result.note,
        )

    average = "mean" if name == "yu2020" else "median"
    test = "0 where Welch's t-test has p >= 0.01" if name == "yu2020" else "no test, no number below 5 %"
    caption = f"Lowest {average} of the H3 clients against lowest {average} of the H2 clients; {test}."
    return Mode(name, max(-low, high), caption, square)


def paired_mode(results: ImportedResults, baseline: str | None = None, candidate: str | None = None) -> Mode:
    """Our own definition for one pair of clients: median of paired log ratios, interval, verdict.

    Clients that did not run in interleaved rounds are paired by their place in the files when there are as many of
    both, else compared as two samples. Raises InvalidInput when there is no such client.
    """
    base, cand = _pair(results, baseline, candidate)

    def square(cell: ImportedCell, h2: Times, h3: Times) -> Square:
        times = {**h2, **h3}
        one, two = times.get(base, ()), times.get(cand, ())
        if results.interleaved:
            pairing = "rounds"
            result = compare(*paired_rounds(cell.ttlb_by_round(base), cell.ttlb_by_round(cand)))
        elif len(one) == len(two):
            pairing, result = "index", compare(one, two)
        else:
            pairing, result = "unpaired", compare_unpaired(one, two)
        return Square(
            diff_pct=result.diff_pct,
            baseline=arm(base, one),
            candidate=arm(cand, two),
            ci_low_pct=result.ci_low_pct,
            ci_high_pct=result.ci_high_pct,
            verdict=Verdict.UNPROVEN.value if _unproven(cell) else result.verdict.value,
            pairing=pairing,
        )

    return Mode("lastbyte", 25.0, f"{cand} against {base}: median of log ratios with its 95 % interval.", square)


def arm(client: str, times_s: Sequence[float]) -> Arm | None:
    """One side of a square; None without times."""
    if not times_s:
        return None
    return Arm(client, len(times_s), statistics.fmean(times_s) * 1000, statistics.median(times_s) * 1000)


def _unproven(cell: ImportedCell) -> bool:
    """Whether the proof that came along says that the link was out of tolerance; foreign results have no proof."""
    return cell.proof is not None and why_unproven(cell.proof, cell.profile) is not None


def _side(times: Times, protocols: Mapping[str, Protocol], protocol: Protocol) -> dict[str, Sequence[float]]:
    return {client: values for client, values in times.items() if values and protocols[client] is protocol}


def _pair(results: ImportedResults, baseline: str | None, candidate: str | None) -> tuple[str, str]:
    known = [client.id for client in results.clients]
    for field, wanted in (("--baseline", baseline), ("--candidate", candidate)):
        if wanted is not None and wanted not in known:
            raise UnknownName(field, "client in these results", wanted, known)
    base = baseline or _default("--baseline", Protocol.H2, results.clients, candidate)
    return base, candidate or _default("--candidate", Protocol.H3, results.clients, base)


def _default(field: str, protocol: Protocol, clients: Sequence[Client], other: str | None) -> str:
    """The first client of the protocol, one of a program that speaks both before the others."""
    mine = [client for client in clients if client.protocol is protocol]
    if not mine:
        listed = ", ".join(client.id for client in clients)
        raise InvalidInput(field, f"the results have no {protocol} client.", f"Name one of: {listed}.")
    programs = {c.program for c in clients if (c.id == other if other else c.protocol is not protocol)}
    return next((client.id for client in mine if client.program in programs), mine[0].id)


def _place(cell: ReplayCell) -> tuple[float, float, float, str, float, str]:
    profile = cell.profile
    return (
        profile.loss_pct,
        profile.extra_rtt_ms,
        -(profile.rate_mbit_s or float("inf")),
        profile.name,
        size_order(cell.size_label),
        cell.size_label,
    )


def _square_notes(squares: Sequence[Square]) -> list[str]:
    found = {square.pairing for square in squares}
    notes = list(dict.fromkeys(square.note for square in squares if square.note))
    if "index" in found:
        notes.append("Times were paired by their place in the files (equal counts); no rounds are recorded.")
    if "unpaired" in found:
        notes.append("Where counts differ the times were compared as two unpaired samples (medians, bootstrap).")
    return notes

"""Results made elsewhere, in the words of the product: readers make them, replay and import use them."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import Trial
from lastbyte.ports import CellProof

LISTED_PLACES = 20
"""Bad places that one error message names; the rest is counted."""

NO_PARSER = "imported"
"""Parser of a client that is known by its results only: it can't be run here."""


class OnError(enum.StrEnum):
    """What to do with results of which some can't be read."""

    REFUSE = "refuse"
    """Take nothing."""
    SKIP = "skip"
    """Take the rest, and list what was left out."""


@dataclass(frozen=True, slots=True)
class BadPlace:
    """Something that can't be used: where it stands and why."""

    file: str
    place: str
    """``line 3``, ``value 7``, ``events.data``; empty: the file as a whole."""
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.place}: {self.reason}" if self.place else f"{self.file}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ImportedCell:
    """One endpoint under one condition, with what others (or an older campaign) measured there."""

    endpoint: Endpoint
    profile: Profile
    trials: tuple[Trial, ...]
    proof: CellProof | None = None
    """None for foreign results: nobody proved their link."""

    def ttlb_s(self, client_id: str) -> list[float]:
        """TTLB in seconds of the trials that count, in the order of rounds."""
        return [ttlb_s for _, ttlb_s in sorted(self.ttlb_by_round(client_id).items())]

    def ttlb_by_round(self, client_id: str) -> dict[int, float]:
        """TTLB in seconds by round: no warm-up, no failures, and nothing that was out of tolerance when it ran."""
        return {
            trial.round_index: trial.observation.timings.ttlb_s
            for trial in self.trials
            if trial.client_id == client_id
            and trial.is_counted
            and not trial.unproven_reason
            and trial.observation.timings
        }


@dataclass(frozen=True, slots=True)
class ImportedResults:
    """All that was read from one folder or file."""

    format: str
    """Which reader made it: ``quic-benchmarks``, ``socket-samples``, ``trials-csv``, ``trials-jsonl``."""
    origin: str
    """The folder or file as the user named it."""
    clients: tuple[Client, ...]
    cells: tuple[ImportedCell, ...]
    interleaved: bool = False
    """True when round i of all clients ran together, so that rounds are pairs; else only the counts are alike."""
    bad: tuple[BadPlace, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the numbers must know."""
    seed: int = 0
    rounds: int = field(default=0)
    """Counted rounds that were planned; 0: as many as there are."""

    @property
    def trials(self) -> int:
        """Number of trials in all cells."""
        return sum(len(cell.trials) for cell in self.cells)


def accept(results: ImportedResults, on_error: OnError) -> ImportedResults:
    """The results to go on with; raises InvalidInput when there are none, or some are bad and that is not wanted."""
    if results.bad and on_error is OnError.REFUSE:
        raise InvalidInput(
            results.origin,
            f"{_count(len(results.bad), 'place')} can't be used, so nothing was taken:{listed(results.bad)}",
            "\nMend them, or leave them out with --on-error skip.",
        )
    if not results.cells:
        raise InvalidInput(results.origin, f"holds no usable results.{listed(results.bad)}")
    places = Counter((cell.endpoint.id, cell.profile.name) for cell in results.cells)
    twice, times = max(places.items(), key=lambda item: item[1])
    if times > 1:
        raise InvalidInput(results.origin, f"holds {twice[0]} under {twice[1]} twice.", "Leave one of them out.")
    used = {trial.client_id for cell in results.cells for trial in cell.trials}
    return replace(results, clients=tuple(client for client in results.clients if client.id in used))


def listed(bad: Sequence[BadPlace]) -> str:
    """The places, one a line, the first ``LISTED_PLACES`` of them."""
    lines = [f"\n  {place}" for place in bad[:LISTED_PLACES]]
    if len(bad) > LISTED_PLACES:
        lines.append(f"\n  and {len(bad) - LISTED_PLACES} more")
    return "".join(lines)


def foreign_client(name: str, protocol: Protocol, title: str = "") -> Client:
    """A client that is known by its results only."""
    program = name
    for ending in (f"_{protocol}", f"-{protocol}", f".{protocol}"):
        program = program.removesuffix(ending)
    return Client(
        id=name,
        program=program or name,
        protocol=protocol,
        title=title or f"{name} (imported)",
        argv=(),
        parser=NO_PARSER,
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")

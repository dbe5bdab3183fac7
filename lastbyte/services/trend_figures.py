"""What trends show of each cell, kept in memory: over a year of nights, only cells that changed are worked out again.

A cell of the same version has the same trials and the same proof, so its medians and differences are the same too.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lastbyte.domain.client import is_aa
from lastbyte.ports import Outcome, TrendCell, TrendReader
from lastbyte.services.squares import DEFAULT_RULES, compared, pairs_in, why_unproven
from lastbyte.services.stopping import counted_times
from lastbyte.stats.intervals import ragged_intervals
from lastbyte.stats.paired import compare_cells

MOST_CELLS = 100_000
"""Cells that are kept, about a third of a kilobyte each with two clients."""

Pair = tuple[str, str]
"""Baseline and candidate."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A median with its interval: seconds of a client, or percent of a pair of clients."""

    n: int
    value: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class CellFigures:
    """What a cell gives to trends."""

    version: int
    believable: bool
    """Its link was in tolerance."""
    arms: Mapping[str, Figure | None]
    """By client, A/A arms left out; None: no trial that counts."""
    differences: Mapping[Pair, Figure | None] = field(default_factory=dict)
    """Those that were asked for so far; None: nothing to compare, or open because of time-outs."""


class KeptFigures:
    """Figures by cell, the least used given up first; safe for many threads."""

    def __init__(self, reader: TrendReader, most: int = MOST_CELLS) -> None:
        self._reader = reader
        self._most = most
        self._figures: OrderedDict[int, bytes] = OrderedDict()  # as objects, garbage collection would look at millions
        self._lock = threading.Lock()

    def of(self, cells: Sequence[TrendCell]) -> dict[int, CellFigures]:
        """Medians of all arms of these cells, by cell."""
        known = self._known([cell.cell_id for cell in cells])
        found = {
            cell.cell_id: figures
            for cell in cells
            if (figures := known.get(cell.cell_id)) is not None and figures.version == cell.version
        }
        changed = [cell for cell in cells if cell.cell_id not in found]
        if changed:
            fresh = self._worked_out(changed)
            self._keep(fresh)
            found.update(fresh)
        return found

    def differences(
        self, cells: Sequence[TrendCell], figures: Mapping[int, CellFigures], pair: Pair
    ) -> dict[int, Figure | None]:
        """How a pair of clients differs in each of these cells, whose ``figures`` are as ``of`` gave them."""
        found = {
            cell.cell_id: figures[cell.cell_id].differences[pair]
            for cell in cells
            if pair in figures[cell.cell_id].differences
        }
        new = [cell.cell_id for cell in cells if cell.cell_id not in found]
        if new:
            fresh = _differences(self._outcomes(new, pair), new, pair)
            self._keep(
                {
                    ident: replace(kept, differences={**kept.differences, pair: fresh[ident]})
                    for ident, kept in self._known(new).items()
                    if kept.version == figures[ident].version
                }
            )
            found.update(fresh)
        return found

    def _worked_out(self, cells: Sequence[TrendCell]) -> dict[int, CellFigures]:
        idents = [cell.cell_id for cell in cells]
        links = self._reader.links(idents)
        by_cell = self._outcomes(idents)
        clients = {i: sorted({o.client_id for o in by_cell[i] if not is_aa(o.client_id)}) for i in idents}
        places = [(ident, client) for ident in idents for client in clients[ident]]
        medians = dict(zip(places, _medians(places, by_cell), strict=True))
        return {
            cell.cell_id: CellFigures(
                version=cell.version,
                believable=cell.cell_id in links and why_unproven(*links[cell.cell_id]) is None,
                arms={client: medians[cell.cell_id, client] for client in clients[cell.cell_id]},
            )
            for cell in cells
        }

    def _outcomes(self, idents: Sequence[int], clients: Sequence[str] | None = None) -> dict[int, list[Outcome]]:
        by_cell: dict[int, list[Outcome]] = defaultdict(list)
        for outcome in self._reader.outcomes(idents, clients):
            by_cell[outcome.cell_id].append(outcome)
        return by_cell

    def _known(self, idents: Sequence[int]) -> dict[int, CellFigures]:
        with self._lock:
            packed = {ident: self._figures[ident] for ident in idents if ident in self._figures}
        return {ident: _unpacked(text) for ident, text in packed.items()}

    def _keep(self, fresh: Mapping[int, CellFigures]) -> None:
        packed = {ident: _packed(figures) for ident, figures in fresh.items()}
        with self._lock:
            for ident, text in packed.items():
                self._figures[ident] = text
                self._figures.move_to_end(ident)
            while len(self._figures) > self._most:
                self._figures.popitem(last=False)


def _packed(figures: CellFigures) -> bytes:
    arms = {client: _parts(figure) for client, figure in figures.arms.items()}
    differences = [(*pair, _parts(figure)) for pair, figure in figures.differences.items()]
    return json.dumps((figures.version, figures.believable, arms, differences)).encode()


def _unpacked(text: bytes) -> CellFigures:
    version, believable, arms, differences = json.loads(text)
    return CellFigures(
        version,
        believable,
        {client: Figure(*parts) if parts else None for client, parts in arms.items()},
        {(baseline, candidate): Figure(*parts) if parts else None for baseline, candidate, parts in differences},
    )


def _parts(figure: Figure | None) -> tuple[int, float, float | None, float | None] | None:
    return None if figure is None else (figure.n, figure.value, figure.ci_low, figure.ci_high)


def _medians(places: Sequence[tuple[int, str]], by_cell: Mapping[int, Sequence[Outcome]]) -> list[Figure | None]:
    samples = [np.array(list(counted_times(by_cell[ident], client).values())) for ident, client in places]
    ends = ragged_intervals(samples)
    return [
        _figure(len(sample), float(np.median(sample)), float(low), float(high)) if len(sample) else None
        for sample, (low, high) in zip(samples, ends, strict=True)
    ]


def _differences(
    by_cell: Mapping[int, Sequence[Outcome]], idents: Sequence[int], pair: Pair
) -> dict[int, Figure | None]:
    pairs = {ident: pairs_in(by_cell[ident], *pair) for ident in idents}
    exact = [ident for ident in idents if not pairs[ident].timed_out]
    at_once = compare_cells(
        [(pairs[ident].baseline_s, pairs[ident].candidate_s) for ident in exact],
        DEFAULT_RULES.equivalence_pct,
        DEFAULT_RULES.confidence,
    )
    results = dict(zip(exact, at_once, strict=True))
    results.update({ident: compared(pairs[ident], DEFAULT_RULES) for ident in idents if pairs[ident].timed_out})
    return {
        ident: None
        if (diff := results[ident]).diff_pct is None
        else _figure(diff.n, diff.diff_pct, diff.ci_low_pct, diff.ci_high_pct)
        for ident in idents
    }


def _figure(n: int, value: float, low: float | None, high: float | None) -> Figure:
    return Figure(n, value, low, high) if n > 1 else Figure(n, value, None, None)

"""Medians over time, per endpoint, profile, vantage and client, with the changes of their level."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lastbyte.ports import Annotation, AnnotationStore, TrendCell, TrendFilter, TrendReader
from lastbyte.services.trend_figures import CellFigures, Figure, KeptFigures
from lastbyte.stats.changepoints import Change, change_points

MAX_CELLS = 5000
"""The latest cells that are read at once."""

Key = tuple[str, str, str]
"""Endpoint id, profile name, vantage."""


@dataclass(frozen=True, slots=True)
class Point:
    """One cell of a series. Times in seconds, differences in percent."""

    campaign_id: str
    campaign_name: str
    cell_id: int
    at: datetime
    n: int
    value: float
    """Median."""
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class DatedChange:
    """A change of level, with the first point on the new one."""

    at: datetime
    campaign_id: str
    change: Change


@dataclass(frozen=True, slots=True)
class Series:
    """A client's medians over time, or the differences of a pair of clients."""

    endpoint_id: str
    profile_name: str
    vantage: str
    client_id: str
    """For differences: the candidate."""
    baseline_id: str | None
    """None: times of ``client_id``; else its differences from this client, in percent."""
    points: tuple[Point, ...]
    changes: tuple[DatedChange, ...]
    unproven: int
    """Cells left out, since their links can't be believed."""


@dataclass(frozen=True, slots=True)
class Trends:
    """Series, and what was noted of their time."""

    series: tuple[Series, ...]
    annotations: tuple[Annotation, ...]
    cells: int
    truncated: bool
    """There are older cells, which were not read."""


@dataclass(frozen=True, slots=True)
class TrendCells:
    """What trends are drawn from."""

    cells: tuple[TrendCell, ...]
    """Oldest first."""
    annotations: tuple[Annotation, ...]
    truncated: bool

    def revision(self) -> str:
        """Changes with whatever the trends of these cells show."""
        return hashlib.sha256(repr((self.cells, self.annotations, self.truncated)).encode()).hexdigest()


class TrendBuilder:
    """Builds trends from what is stored."""

    def __init__(self, reader: TrendReader, annotations: AnnotationStore) -> None:
        self._reader = reader
        self._annotations = annotations
        self._figures = KeptFigures(reader)

    def of(self, which: TrendFilter, clients: Sequence[str] = (), baseline: str | None = None) -> Trends:
        """``drawn`` from what is there now."""
        return self.drawn(self.cells(which), clients, baseline)

    def cells(self, which: TrendFilter) -> TrendCells:
        """The cells that trends are made of, and what was noted of their time."""
        cells = self._reader.cells(which, MAX_CELLS + 1)
        notes = self._annotations.annotations(which.measured_from, which.measured_to)
        wanted = tuple(note for note in notes if note.endpoint_id is None or note.endpoint_id in which.endpoint_ids)
        return TrendCells(tuple(cells[-MAX_CELLS:]), wanted, len(cells) > MAX_CELLS)

    def drawn(self, found: TrendCells, clients: Sequence[str] = (), baseline: str | None = None) -> Trends:
        """Series of these clients (none: of all), and the difference of each from ``baseline``.

        Without ``baseline``, each client that speaks H3 (its id ends in ``-h3``) is compared with the same program's
        H2 client, or the first H2 client there is.
        """
        groups: dict[Key, list[TrendCell]] = defaultdict(list)
        for cell in found.cells:
            groups[cell.endpoint_id, cell.profile_name, cell.vantage].append(cell)
        figures = self._figures.of(found.cells)
        series = [
            line
            for key, members in sorted(groups.items())
            for line in self._lines(key, members, figures, clients, baseline)
        ]
        return Trends(tuple(series), found.annotations, len(found.cells), found.truncated)

    def _lines(
        self,
        key: Key,
        members: Sequence[TrendCell],
        figures: Mapping[int, CellFigures],
        clients: Sequence[str],
        baseline: str | None,
    ) -> list[Series]:
        proven = [cell for cell in members if figures[cell.cell_id].believable]
        present = sorted({client for cell in proven for client in figures[cell.cell_id].arms})
        shown = [client for client in present if not clients or client in clients]
        unproven = len(members) - len(proven)
        lines = []
        for client in shown:
            points = _points(proven, {cell.cell_id: figures[cell.cell_id].arms.get(client) for cell in proven})
            dated = _dated(points, [point.value for point in points])
            lines.append(Series(*key, client, None, points, dated, unproven))
        for client in shown:
            base = _baseline_of(client, present, baseline)
            if base is not None:
                points = _points(proven, self._figures.differences(proven, figures, (base, client)))
                dated = _dated(points, [1 + point.value / 100 for point in points])
                lines.append(Series(*key, client, base, points, dated, unproven))
        return [line for line in lines if line.points]


def _baseline_of(client: str, present: Sequence[str], baseline: str | None) -> str | None:
    if baseline is not None:
        return baseline if baseline in present and baseline != client else None
    if not client.endswith("-h3"):
        return None
    own = client.removesuffix("-h3") + "-h2"
    return own if own in present else next((other for other in present if other.endswith("-h2")), None)


def _points(cells: Sequence[TrendCell], figures: Mapping[int, Figure | None]) -> tuple[Point, ...]:
    return tuple(
        Point(
            cell.campaign_id,
            cell.campaign_name,
            cell.cell_id,
            cell.measured_at,
            figure.n,
            figure.value,
            figure.ci_low,
            figure.ci_high,
        )
        for cell in cells
        if (figure := figures[cell.cell_id]) is not None
    )


def _dated(points: Sequence[Point], values: Sequence[float]) -> tuple[DatedChange, ...]:
    return tuple(
        DatedChange(points[change.index].at, points[change.index].campaign_id, change)
        for change in change_points(values)
    )

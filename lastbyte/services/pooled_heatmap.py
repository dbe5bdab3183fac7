"""Heatmaps over the cells of several campaigns, with axes and facets to choose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import size_order
from lastbyte.ports import CampaignFilter, CampaignRecord, CampaignStore, ResultStore
from lastbyte.services.detail import difference_ps
from lastbyte.services.heatmap import pick_arm
from lastbyte.services.paper import HeatmapMode, clients_of, mode_note, paper_square, samples_of
from lastbyte.services.places import origin_note
from lastbyte.services.pool import Pool, PooledCell, as_one, pool_of
from lastbyte.services.squares import HeatmapCell, corrected, pairs_in, square

Axis = Literal["loss", "delay", "rate", "size", "endpoint", "profile"]
Facet = Literal["none", "provider", "client", "vantage"]
Value = float | str | None
"""A place on an axis; None: no limit of the rate."""

VALUE_OF: dict[Axis, Callable[[PooledCell], Value]] = {
    "loss": lambda cell: cell.record.profile.loss_pct,
    "delay": lambda cell: cell.record.profile.extra_rtt_ms,
    "rate": lambda cell: cell.record.profile.rate_mbit_s,
    "size": lambda cell: cell.record.endpoint.size_label,
    "endpoint": lambda cell: cell.record.endpoint.id,
    "profile": lambda cell: cell.record.profile.name,
}


@dataclass(frozen=True, slots=True)
class PooledSquare:
    """One square, from all cells in its place."""

    x: Value
    y: Value
    comparison: HeatmapCell
    cells: tuple[PooledCell, ...]

    @property
    def unproven_cells(self) -> int:
        """Cells whose trials stay out, since their links can't be believed."""
        return sum(cell.unproven_reason is not None for cell in self.cells)


@dataclass(frozen=True, slots=True)
class FacetMap:
    """The squares of one facet."""

    name: str
    baseline: str
    candidate: str
    xs: tuple[Value, ...]
    ys: tuple[Value, ...]
    squares: tuple[PooledSquare, ...]


@dataclass(frozen=True, slots=True)
class PooledHeatmap:
    """All facets."""

    campaigns: tuple[CampaignRecord, ...]
    x: Axis
    y: Axis
    facet: Facet
    mode: HeatmapMode
    mode_note: str | None
    origin_note: str
    facets: tuple[FacetMap, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to draw, of which cells."""

    x: Axis = "profile"
    y: Axis = "endpoint"
    facet: Facet = "provider"
    mode: HeatmapMode = "lastbyte"
    baseline: str | None = None
    candidate: str | None = None
    providers: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()

    def takes(self, cell: PooledCell) -> bool:
        """Whether the cell is one of those wanted."""
        endpoint, profile = cell.record.endpoint, cell.record.profile
        return all(
            not names or name in names
            for name, names in (
                (endpoint.provider, self.providers),
                (endpoint.id, self.endpoints),
                (profile.name, self.profiles),
            )
        )


class PooledHeatmaps:
    """Builds them from what is stored."""

    def __init__(self, campaigns: CampaignStore, results: ResultStore) -> None:
        self._campaigns = campaigns
        self._results = results

    def of(self, ids: Sequence[str], which: CampaignFilter | None, wanted: Wanted) -> PooledHeatmap:
        """The heatmap of the campaigns named, or found by ``which``. Raises NotFound and InvalidInput."""
        pool = pool_of(self._campaigns, self._results, ids, which)
        cells = [cell for cell in pool.cells if wanted.takes(cell)]
        facets = [
            _facet(pool, name, base, cand, members, wanted)
            for name, base, cand, members in _facets(pool.arms, cells, wanted)
        ]
        notes = {origin_note(c, [m.record for m in cells if m.campaign.id == c.id]) for c in pool.campaigns}
        return PooledHeatmap(
            campaigns=pool.campaigns,
            x=wanted.x,
            y=wanted.y,
            facet=wanted.facet,
            mode=wanted.mode,
            mode_note=None if wanted.mode == "lastbyte" else mode_note(wanted.mode, pool.arms),
            origin_note=" ".join(sorted(notes)),
            facets=tuple(_corrected(facets)),
        )


_Facet = tuple[str, str, str, list[PooledCell]]
"""Name, baseline, candidate, cells."""


def _facets(arms: Sequence[Client], cells: Sequence[PooledCell], wanted: Wanted) -> list[_Facet]:
    base = pick_arm("baseline", wanted.baseline, Protocol.H2, arms)
    if wanted.facet == "client":
        h2 = {arm.program: arm.id for arm in arms if arm.protocol is Protocol.H2}
        candidates = [arm for arm in arms if arm.protocol is Protocol.H3 and wanted.candidate in (None, arm.id)]
        own = h2 if wanted.baseline is None else {}
        return [(arm.id, own.get(arm.program, base), arm.id, list(cells)) for arm in candidates]
    cand = pick_arm("candidate", wanted.candidate, Protocol.H3, arms)
    if wanted.facet == "none":
        return [("", base, cand, list(cells))]
    groups: dict[str, list[PooledCell]] = defaultdict(list)
    for cell in cells:
        name = cell.record.endpoint.provider if wanted.facet == "provider" else cell.campaign.spec.vantage
        groups[name].append(cell)
    return [(name, base, cand, members) for name, members in groups.items()]


def _facet(pool: Pool, name: str, base: str, cand: str, members: Sequence[PooledCell], wanted: Wanted) -> FacetMap:
    x_of, y_of = VALUE_OF[wanted.x], VALUE_OF[wanted.y]
    places: dict[tuple[Value, Value], list[PooledCell]] = defaultdict(list)
    for cell in members:
        places[x_of(cell), y_of(cell)].append(cell)
    joined = {place: as_one(cells) for place, cells in places.items()}
    difference_ps([pairs_in(outcomes, base, cand) for _, outcomes in joined.values()])  # all at once is faster
    h2, h3 = clients_of(pool.arms, Protocol.H2), clients_of(pool.arms, Protocol.H3)
    squares = []
    for (x, y), (record, outcomes) in joined.items():
        found = square(record, outcomes, base, cand, pool.rules)
        if wanted.mode != "lastbyte":
            paper = paper_square(wanted.mode, samples_of(outcomes, h2), samples_of(outcomes, h3))
            found = replace(found, paper=paper)
        squares.append(PooledSquare(x, y, found, tuple(places[x, y])))
    xs, ys = (tuple(sorted({place[i] for place in places}, key=order_of)) for i in (0, 1))
    ordered = sorted(squares, key=lambda item: (ys.index(item.y), xs.index(item.x)))
    return FacetMap(name, base, cand, xs, ys, tuple(ordered))


def order_of(value: Value) -> tuple[int, float, str]:
    """Sort key of a place on an axis: numbers rising, no limit last, sizes from small to large, names by alphabet."""
    if value is None:
        return (1, 0.0, "")
    if isinstance(value, str):
        return (0, size_order(value), value)
    return (0, value, "")


def _corrected(facets: Sequence[FacetMap]) -> list[FacetMap]:
    """With q values over all squares of all facets."""
    found = iter(corrected([item.comparison for facet in facets for item in facet.squares]))
    return [
        replace(facet, squares=tuple(replace(item, comparison=next(found)) for item in facet.squares))
        for facet in facets
    ]

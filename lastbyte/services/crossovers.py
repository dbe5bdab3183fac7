"""Where H3 and H2 take the same time: along one axis, for each combination of everything else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lastbyte.domain.client import Protocol
from lastbyte.domain.endpoint import size_order
from lastbyte.ports import CampaignFilter, CampaignRecord, CampaignStore, ResultStore
from lastbyte.services.heatmap import pick_arm
from lastbyte.services.pool import PooledCell, as_one, pool_of
from lastbyte.services.squares import pairs_in
from lastbyte.stats.crossover import Crossover, Place, crossover
from lastbyte.stats.paired import log_ratios

CrossAxis = Literal["loss", "delay", "rate", "size"]


@dataclass(frozen=True, slots=True)
class Line:
    """What is the same for all cells of a line; None on the axis itself."""

    provider: str
    vantage: str
    base_rtt_ms: float
    loss_pct: float | None
    delay_ms: float | None
    rate_mbit_s: float | None
    size_label: str | None


@dataclass(frozen=True, slots=True)
class LineCrossover:
    """A line and where it crosses."""

    line: Line
    xs: tuple[float, ...]
    """Places that were measured."""
    found: Crossover


@dataclass(frozen=True, slots=True)
class Crossovers:
    """All lines along one axis."""

    campaigns: tuple[CampaignRecord, ...]
    axis: CrossAxis
    unit: str
    baseline: str
    candidate: str
    lines: tuple[LineCrossover, ...]


UNITS: dict[CrossAxis, str] = {"loss": "%", "delay": "ms", "rate": "Mbit/s", "size": "bytes"}


class CrossoverFinder:
    """Finds crossovers in what is stored."""

    def __init__(self, campaigns: CampaignStore, results: ResultStore) -> None:
        self._campaigns = campaigns
        self._results = results

    def of(
        self,
        ids: Sequence[str],
        which: CampaignFilter | None,
        axis: CrossAxis,
        baseline: str | None = None,
        candidate: str | None = None,
    ) -> Crossovers:
        """Crossovers of the campaigns named, or found by ``which``. Raises NotFound and InvalidInput."""
        pool = pool_of(self._campaigns, self._results, ids, which)
        base = pick_arm("baseline", baseline, Protocol.H2, pool.arms)
        cand = pick_arm("candidate", candidate, Protocol.H3, pool.arms)
        lines: dict[Line, dict[float, list[PooledCell]]] = defaultdict(lambda: defaultdict(list))
        for cell in pool.cells:
            x = _x_of(cell, axis)
            if x is not None and not _is_special(cell):
                lines[_line_of(cell, axis)][x].append(cell)
        return Crossovers(
            campaigns=pool.campaigns,
            axis=axis,
            unit=UNITS[axis],
            baseline=base,
            candidate=cand,
            lines=tuple(
                LineCrossover(
                    line, tuple(sorted(at)), crossover([_place(x, cells, base, cand) for x, cells in at.items()])
                )
                for line, at in sorted(lines.items(), key=lambda item: _order(item[0]))
                if len(at) > 1
            ),
        )


def _x_of(cell: PooledCell, axis: CrossAxis) -> float | None:
    profile, endpoint = cell.record.profile, cell.record.endpoint
    match axis:
        case "loss":
            return profile.loss_pct
        case "delay":
            return profile.extra_rtt_ms
        case "rate":
            return profile.rate_mbit_s
        case "size":
            return size_order(endpoint.size_label) or endpoint.expected_bytes


def _is_special(cell: PooledCell) -> bool:
    """Profiles that differ by more than loss, delay and rate are on no line."""
    profile = cell.record.profile
    return profile.timeline is not None or any(
        item.jitter_ms or item.reorder_pct or item.duplicate_pct or item.corrupt_pct or item.slot or item.loss_model
        for item in (profile.downlink, profile.uplink)
    )


def _line_of(cell: PooledCell, axis: CrossAxis) -> Line:
    profile, endpoint = cell.record.profile, cell.record.endpoint
    return Line(
        provider=endpoint.provider,
        vantage=cell.campaign.spec.vantage,
        base_rtt_ms=endpoint.base_rtt_ms,
        loss_pct=None if axis == "loss" else profile.loss_pct,
        delay_ms=None if axis == "delay" else profile.extra_rtt_ms,
        rate_mbit_s=None if axis == "rate" else profile.rate_mbit_s,
        size_label=None if axis == "size" else endpoint.size_label,
    )


def _order(line: Line) -> tuple[str, str, float, float, float, float]:
    size = size_order(line.size_label or "")
    return (line.provider, line.vantage, size, line.loss_pct or 0.0, line.delay_ms or 0.0, line.rate_mbit_s or 0.0)


def _place(x: float, cells: Sequence[PooledCell], base: str, cand: str) -> Place:
    """The pairs of all cells there that both succeeded on a link that can be believed."""
    believed = [cell for cell in cells if cell.unproven_reason is None]
    if not believed:
        return Place(x, ())
    pairs = pairs_in(as_one(believed)[1], base, cand)
    kept = [
        (one, two)
        for one, two, one_out, two_out in zip(
            pairs.baseline_s, pairs.candidate_s, pairs.baseline_timed_out, pairs.candidate_timed_out, strict=True
        )
        if not one_out and not two_out
    ]
    return Place(x, tuple(float(v) for v in log_ratios([one for one, _ in kept], [two for _, two in kept])))

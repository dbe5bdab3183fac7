"""Which cell stands where: the answer of ``GET /campaigns/{id}/heatmap`` laid out as conditions x sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dashboard.client import Json
from dashboard.formatting import NBSP, number, parse_time, when
from lastbyte.domain.endpoint import size_order

UNSHAPED = float("inf")
"""Stands for "rate not shaped" where rates are put in order."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One kind of grid: the condition that its rows vary."""

    key: str
    title: str
    """Title of the row axis."""
    label: str
    """Name of the grid in the switch above it."""
    value: Callable[[Json], float]
    """Row of a cell."""
    belongs: Callable[[Json, float | None], bool]
    """Whether a cell differs from the others in this one thing only; takes the rate that most cells share."""
    row_label: Callable[[float, str], str]
    """``0.1 %``, ``50 ms``; takes the viewer's time zone."""


def _rate(cell: Json) -> float:
    return UNSHAPED if cell["rate_mbit_s"] is None else float(cell["rate_mbit_s"])


LOSS = Axis(
    "loss",
    "Extra loss",
    "Loss",
    lambda c: float(c["loss_pct"]),
    lambda c, rate: not c["extra_rtt_ms"] and c["rate_mbit_s"] == rate,
    lambda value, _zone: f"{number(value)}{NBSP}%",
)
DELAY = Axis(
    "delay",
    "Extra delay (RTT)",
    "Delay",
    lambda c: float(c["extra_rtt_ms"]),
    lambda c, rate: not c["loss_pct"] and c["rate_mbit_s"] == rate,
    lambda value, _zone: f"{number(value)}{NBSP}ms",
)
RATE = Axis(
    "rate",
    "Rate (Mbit/s)",
    "Rate",
    # From fast to slow, since rows run from mild to severe.
    lambda c: -_rate(c),
    lambda c, _rate: not c["loss_pct"] and not c["extra_rtt_ms"],
    lambda value, _zone: "not shaped" if value == -UNSHAPED else number(-value),
)
TIME = Axis(
    "time",
    "Campaign of",
    "Time",
    lambda c: parse_time(c["measured_at"]).timestamp(),
    lambda c, _rate: "measured_at" in c,
    lambda value, zone: when(datetime.fromtimestamp(value, UTC).isoformat(), zone),
)
AXES = {axis.key: axis for axis in (LOSS, DELAY, RATE, TIME)}
CONDITIONS = (LOSS, DELAY, RATE)
"""The axes on which a cell has one place whenever it was measured."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One provider's grid."""

    key: str
    """Unique on the page: one name can stand for two origins or distances."""
    provider: str
    origin: str
    base_rtt_ms: float
    axis: Axis
    rows: tuple[float, ...]
    """Values of the condition, mild first."""
    columns: tuple[str, ...]
    """Size labels, small first."""
    cells: tuple[tuple[Json | None, ...], ...]
    """By row, then column; None where the campaign has no such cell."""

    def shown(self) -> list[Json]:
        """The cells that are there, row by row."""
        return [cell for row in self.cells for cell in row if cell is not None]


def panels(heatmap: Json, axis: Axis, sizes: Sequence[str] = ()) -> list[Panel]:
    """One panel per provider that has cells on this axis, in the API's order; ``sizes`` empty: all sizes."""
    rate = main_rate(heatmap)
    laid_out = (_panel(provider, axis, rate, sizes) for provider in heatmap["providers"])
    return [panel for panel in laid_out if panel.rows]


def panel_key(provider: Json) -> str:
    """Identity of one entry of the heatmap's ``providers``."""
    return f"{provider['provider']} {provider['origin']} {provider['base_rtt_ms'] or 0:g}"


def off_grid(heatmap: Json) -> list[tuple[str, Json]]:
    """Provider and cell of everything that no grid shows, so that nothing is hidden."""
    shown = {id(cell) for axis in CONDITIONS for panel in panels(heatmap, axis) for cell in panel.shown()}
    return [(provider, cell) for provider, cell in all_cells(heatmap) if id(cell) not in shown]


def all_cells(heatmap: Json) -> list[tuple[str, Json]]:
    """Provider and cell of every cell: by provider, loss, delay, then size."""
    return [(p["provider"], cell) for p in heatmap["providers"] for cell in sorted(p["cells"], key=_reading_order)]


def all_sizes(heatmap: Json) -> list[str]:
    """Every size label, small first."""
    return sorted({c["size_label"] for _, c in all_cells(heatmap)}, key=lambda label: (size_order(label), label))


def best_axis(heatmap: Json) -> Axis:
    """The axis on which most varies; loss before delay before rate when equal."""
    rows = {a.key: max((len(p.rows) for p in panels(heatmap, a)), default=0) for a in CONDITIONS}
    return max(CONDITIONS, key=lambda axis: rows[axis.key])


def _reading_order(cell: Json) -> tuple[float, float, float, float, str]:
    return (cell["loss_pct"], cell["extra_rtt_ms"], _rate(cell), size_order(cell["size_label"]), cell["endpoint"])


def _panel(provider: Json, axis: Axis, rate: float | None, sizes: Sequence[str]) -> Panel:
    wanted = [c for c in provider["cells"] if axis.belongs(c, rate) and (not sizes or c["size_label"] in sizes)]
    chosen: dict[tuple[float, str], Json] = {}
    for cell in wanted:
        # First come, first shown; a second cell of the same condition and size goes to the table below the grids.
        chosen.setdefault((axis.value(cell), cell["size_label"]), cell)
    rows = tuple(sorted({row for row, _ in chosen}))
    columns = tuple(sorted({column for _, column in chosen}, key=lambda label: (size_order(label), label)))
    return Panel(
        key=panel_key(provider),
        provider=provider["provider"],
        origin=provider["origin"],
        base_rtt_ms=provider["base_rtt_ms"] or 0.0,
        axis=axis,
        rows=rows,
        columns=columns,
        cells=tuple(tuple(chosen.get((row, column)) for column in columns) for row in rows),
    )


def main_rate(heatmap: Json) -> float | None:
    """The rate that most shaped cells share: a grid compares conditions at one rate only."""
    rates = Counter(c["rate_mbit_s"] for p in heatmap["providers"] for c in p["cells"] if c["rate_mbit_s"] is not None)
    return rates.most_common(1)[0][0] if rates else None

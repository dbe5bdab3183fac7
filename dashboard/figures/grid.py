"""Which cell stands where: the answer of ``GET /campaigns/{id}/heatmap`` laid out as conditions x sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.client import Json
from dashboard.formatting import NBSP, number
from lastbyte.domain.endpoint import size_order


@dataclass(frozen=True, slots=True)
class Axis:
    """One kind of grid: the condition that its rows vary."""

    key: str
    title: str
    """Title of the row axis."""
    label: str
    """Name of the grid in the switch above it."""
    varies: str
    """Field of a cell that gives its row."""
    stays_zero: str
    """Field that must be 0, so that rows differ in one thing only."""
    unit: str

    def row_label(self, value: float) -> str:
        """``0.1 %``, ``50 ms``."""
        return f"{number(value)}{NBSP}{self.unit}"


LOSS = Axis("loss", "Extra loss", "Loss \N{MULTIPLICATION SIGN} size", "loss_pct", "extra_rtt_ms", "%")
DELAY = Axis("delay", "Extra delay (RTT)", "Delay \N{MULTIPLICATION SIGN} size", "extra_rtt_ms", "loss_pct", "ms")
AXES = {axis.key: axis for axis in (LOSS, DELAY)}


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

    def cell_at(self, row: float, column: float) -> Json | None:
        """The cell under a click at axis coordinates (row, column); None outside or where there is none."""
        i, j = round(row), round(column)
        return self.cells[i][j] if 0 <= i < len(self.rows) and 0 <= j < len(self.columns) else None


def panels(heatmap: Json, axis: Axis) -> list[Panel]:
    """One panel per provider that has cells on this axis, in the API's order."""
    rate = _main_rate(heatmap)
    laid_out = (_panel(provider, axis, rate) for provider in heatmap["providers"])
    return [panel for panel in laid_out if panel.rows]


def panel_key(provider: Json) -> str:
    """Identity of one entry of the heatmap's ``providers``."""
    return f"{provider['provider']} {provider['origin']} {provider['base_rtt_ms'] or 0:g}"


def off_grid(heatmap: Json) -> list[tuple[str, Json]]:
    """Provider and cell of everything that neither grid shows, so that nothing is hidden."""
    shown = {
        id(cell)
        for axis in AXES.values()
        for panel in panels(heatmap, axis)
        for row in panel.cells
        for cell in row
        if cell is not None
    }
    return [(provider, cell) for provider, cell in all_cells(heatmap) if id(cell) not in shown]


def all_cells(heatmap: Json) -> list[tuple[str, Json]]:
    """Provider and cell of every cell: by provider, loss, delay, then size."""
    return [(p["provider"], cell) for p in heatmap["providers"] for cell in sorted(p["cells"], key=_reading_order)]


def _reading_order(cell: Json) -> tuple[float, float, bool, float, str]:
    return (
        cell["loss_pct"],
        cell["extra_rtt_ms"],
        cell["rate_mbit_s"] is None,
        size_order(cell["size_label"]),
        cell["endpoint"],
    )


def _panel(provider: Json, axis: Axis, rate: float | None) -> Panel:
    chosen = _one_per_square(
        [c for c in provider["cells"] if not c[axis.stays_zero] and c["rate_mbit_s"] == rate], axis
    )
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


def _one_per_square(cells: Sequence[Json], axis: Axis) -> dict[tuple[float, str], Json]:
    """First come, first shown; a second cell of the same condition and size goes to the table below the grids."""
    chosen: dict[tuple[float, str], Json] = {}
    for cell in cells:
        chosen.setdefault((float(cell[axis.varies]), cell["size_label"]), cell)
    return chosen


def _main_rate(heatmap: Json) -> float | None:
    """The rate that most shaped cells share: a grid compares conditions at one rate only."""
    rates = Counter(c["rate_mbit_s"] for p in heatmap["providers"] for c in p["cells"] if c["rate_mbit_s"] is not None)
    return rates.most_common(1)[0][0] if rates else None

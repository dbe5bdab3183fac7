"""The answer in plain sentences, computed from the cells: where H3 is slower or faster, how sure, on how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.client import Json
from dashboard.figures.cell_text import difference
from dashboard.formatting import NBSP, interval, number, plural, size_label
from dashboard.words import KINDS, kind_of

LABELS = (
    ("h2 faster", "slower"),
    ("h3 faster", "faster"),
    ("equivalent", "equivalent"),
    ("below floor", "within the noise"),
    ("inconclusive", "inconclusive"),
    ("unproven", "unproven"),
    ("failing", "failing"),
    ("no data", "without data"),
)

SHOWN = 3
"""Squares named per provider and direction; the grid shows the rest."""


@dataclass(frozen=True, slots=True)
class Line:
    """What holds for one provider."""

    provider: str
    slower: tuple[Json, ...]
    """Cells in which H3 is slower, the largest difference first."""
    faster: tuple[Json, ...]
    unclear: int
    """Judged cells in neither direction."""
    judged: int
    """Cells with a result."""
    trials: int
    """On so many all this rests."""


def summary(cells: Sequence[Json]) -> str:
    """One sentence that answers the question for all cells shown."""
    counts = dict.fromkeys(KINDS, 0)
    for cell in cells:
        counts[kind_of(cell)] += 1
    judged = len(cells) - counts["pending"] - counts["measuring"]
    if not judged:
        return "No cell has a result yet."
    said = [f"{label} in {counts[kind]}" for kind, label in LABELS if counts[kind]]
    waiting = len(cells) - judged
    tail = f" {plural(waiting, 'cell')} still to come." if waiting else ""
    return f"Of {plural(judged, 'cell')}: H3 " + ", ".join(said) + "." + tail


def rests_on(cells: Sequence[Json]) -> str:
    """On how many trials all this rests."""
    rounds = [cell["n"] for cell in cells if cell["n"]]
    if not rounds:
        return ""
    few, many = min(rounds), max(rounds)
    span = f"{few}" if few == many else f"{few} to {many}"
    left_out = sum(cell.get("left_out") or 0 for cell in cells)
    tail = f" {plural(left_out, 'trial')} out of tolerance left out." if left_out else ""
    return f"Rests on {plural(trials_of(cells), 'trial')}, {span} paired rounds per square.{tail}"


def trials_of(cells: Sequence[Json]) -> int:
    """How many were run, failed ones too."""
    return sum(cell[arm]["n"] + cell[arm]["failures"] for cell in cells for arm in ("baseline", "candidate"))


def lines(cells: Sequence[tuple[str, Json]]) -> list[Line]:
    """Per provider, in their order, what is established."""
    by_provider: dict[str, list[Json]] = {}
    for provider, cell in cells:
        by_provider.setdefault(provider, []).append(cell)
    return [_line(provider, mine) for provider, mine in by_provider.items()]


def _line(provider: str, cells: Sequence[Json]) -> Line:
    kinds = [(kind_of(cell), cell) for cell in cells]
    slower = sorted((c for kind, c in kinds if kind == "h2 faster"), key=_size_of_effect)
    faster = sorted((c for kind, c in kinds if kind == "h3 faster"), key=_size_of_effect)
    waiting = sum(kind in ("pending", "measuring") for kind, _ in kinds)
    judged = len(cells) - waiting
    unclear = judged - len(slower) - len(faster)
    return Line(provider, tuple(slower), tuple(faster), unclear, judged, trials_of(cells))


def _size_of_effect(cell: Json) -> float:
    return -abs(float(cell["diff_pct"] or 0.0))


def square(cell: Json) -> str:
    """``1 % loss, 1 MB: +48.0 % (95 % interval +40.1 … +55.0, n = 20)``."""
    bounds = (
        f"95{NBSP}% interval {interval(cell['ci_low_pct'], cell['ci_high_pct'])}, "
        if cell["ci_low_pct"] is not None and cell["ci_high_pct"] is not None
        else ""
    )
    rests = f"({bounds}n{NBSP}={NBSP}{cell['n']})"
    return f"{condition_words(cell)}, {size_label(cell['size_label'])}: {difference(cell)} {rests}"


def brief(cell: Json) -> str:
    """``1 % loss, 1 MB: +48.0 % (+40.1 … +55.0)``."""
    bounds = (
        f" ({interval(cell['ci_low_pct'], cell['ci_high_pct'])})"
        if cell["ci_low_pct"] is not None and cell["ci_high_pct"] is not None
        else ""
    )
    return f"{condition_words(cell)}, {size_label(cell['size_label'])}: {difference(cell)}{bounds}"


def condition_words(cell: Json) -> str:
    """``1 % loss``, ``50 ms delay``, ``1 % loss and 50 ms delay``, or ``no loss``."""
    parts = [f"{number(cell['loss_pct'])}{NBSP}% loss"] if cell["loss_pct"] else []
    parts += [f"{number(cell['extra_rtt_ms'])}{NBSP}ms extra delay"] if cell["extra_rtt_ms"] else []
    return " and ".join(parts) or "no loss or delay added"

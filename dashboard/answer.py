"""The answer in plain sentences, computed from the cells: where H3 is slower or faster, how sure, on how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.client import Json
from dashboard.formatting import NBSP, interval, number, plural, signed_pct, size_label
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


def headline(cells: Sequence[tuple[str, Json]]) -> str:
    """Where H3 is slowest and fastest, with interval and n; empty where nothing is established."""
    said = []
    for word, kind in (("slowest", "h2 faster"), ("fastest", "h3 faster")):
        mine = [(provider, cell) for provider, cell in cells if kind_of(cell) == kind]
        if mine:
            provider, cell = min(mine, key=lambda item: _size_of_effect(item[1]))
            said.append(f"H3 is {word} for {provider} at {square(cell)}.")
    return " ".join(said)


def rests_on(cells: Sequence[Json]) -> str:
    """On how many trials all this rests."""
    trials = sum(cell[arm]["n"] + cell[arm]["failures"] for cell in cells for arm in ("baseline", "candidate"))
    rounds = [cell["n"] for cell in cells if cell["n"]]
    if not rounds:
        return ""
    few, many = min(rounds), max(rounds)
    span = f"{few}" if few == many else f"{few} to {many}"
    left_out = sum(cell.get("left_out") or 0 for cell in cells)
    tail = f" {plural(left_out, 'trial')} out of tolerance left out." if left_out else ""
    return f"Rests on {plural(trials, 'trial')}, {span} paired rounds per square.{tail}"


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
    return Line(provider, tuple(slower), tuple(faster), len(cells) - len(slower) - len(faster) - waiting)


def _size_of_effect(cell: Json) -> float:
    return -abs(float(cell["diff_pct"] or 0.0))


def square(cell: Json) -> str:
    """``1 % loss, 1 MB: +48.0 % (95 % interval +40.1 … +55.0, n = 20)``."""
    bounds = (
        f"95{NBSP}% interval {interval(cell['ci_low_pct'], cell['ci_high_pct'])}, "
        if cell["ci_low_pct"] is not None and cell["ci_high_pct"] is not None
        else ""
    )
    value = signed_pct(cell["diff_pct"]) if cell["diff_pct"] is not None else "open"
    return f"{condition_words(cell)}, {size_label(cell['size_label'])}: {value} ({bounds}n{NBSP}={NBSP}{cell['n']})"


def condition_words(cell: Json) -> str:
    """``1 % loss``, ``50 ms delay``, ``1 % loss and 50 ms delay``, or ``no loss``."""
    parts = [f"{number(cell['loss_pct'])}{NBSP}% loss"] if cell["loss_pct"] else []
    parts += [f"{number(cell['extra_rtt_ms'])}{NBSP}ms extra delay"] if cell["extra_rtt_ms"] else []
    return " and ".join(parts) or "no loss or delay added"

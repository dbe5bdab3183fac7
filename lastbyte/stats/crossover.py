"""Where along an axis (loss, delay, rate, size) do H3 and H2 take the same time?

The median log-ratio is known at some places of the axis; between neighbours it is taken to be a straight line, so a
crossing lies where two neighbours have different signs. How sure that is comes from a bootstrap: the rounds of each
cell are drawn anew, and the crossing is looked for again. Where fewer than nine in ten draws agree on what there is,
nothing is claimed.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lastbyte.stats.intervals import SMALLEST_N, Array

DRAWS = 1000
AGREE = 0.9
"""Share of the draws that must agree."""


class Crossing(enum.StrEnum):
    """What is known of a line of cells."""

    FOUND = "found"
    H3_THROUGHOUT = "h3 faster throughout"
    H2_THROUGHOUT = "h2 faster throughout"
    SEVERAL = "several"
    """The sign changes more than once, so no single place can be named."""
    UNCERTAIN = "too uncertain"
    TOO_FEW = "too few"
    """Fewer than two places with six pairs each."""


@dataclass(frozen=True, slots=True)
class Place:
    """A cell of the line."""

    x: float
    log_ratios: tuple[float, ...]
    """ln(H3 / H2) of each paired round."""


@dataclass(frozen=True, slots=True)
class Crossover:
    """The crossing of one line; ``x`` in the axis' own unit."""

    kind: Crossing
    x: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    """95 % interval over the draws that cross once."""
    h3_faster_below: bool | None = None
    """Which side of the crossing H3 wins."""
    agreement: float = 0.0
    """Share of the draws that say the same as ``kind``."""
    places: int = 0
    """Places with enough pairs."""


def crossover(line: Sequence[Place], draws: int = DRAWS, confidence: float = 0.95, seed: int = 0) -> Crossover:
    """The crossing along ``line``. The same input and seed give the same answer."""
    usable = sorted((place for place in line if len(place.log_ratios) >= SMALLEST_N), key=lambda place: place.x)
    xs = np.array([place.x for place in usable])
    if len(set(xs)) < 2:
        return Crossover(Crossing.TOO_FEW, places=len(set(xs)))
    generator = np.random.default_rng(seed)
    medians = np.stack([_medians(np.array(place.log_ratios), draws, generator) for place in usable], axis=1)
    below = medians < 0  # H3 faster
    changes = below[:, 1:] != below[:, :-1]
    count = changes.sum(axis=1)
    shares = {
        Crossing.H3_THROUGHOUT: float((below.all(axis=1)).mean()),
        Crossing.H2_THROUGHOUT: float((~below).all(axis=1).mean()),
        Crossing.SEVERAL: float((count > 1).mean()),
    }
    once = count == 1
    sides = below[once, 0]
    h3_below = bool(sides.mean() >= 0.5) if sides.size else None
    shares[Crossing.FOUND] = float((sides == h3_below).sum() / draws) if sides.size else 0.0
    kind, share = max(shares.items(), key=lambda item: item[1])
    if share < AGREE:
        return Crossover(Crossing.UNCERTAIN, agreement=share, places=len(usable))
    if kind is not Crossing.FOUND:
        return Crossover(kind, agreement=share, places=len(usable))
    agreeing = np.flatnonzero(once)[sides == h3_below]
    at = _crossings(xs, medians[agreeing], changes[agreeing])
    low, high = np.quantile(at, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Crossover(kind, float(np.median(at)), float(low), float(high), h3_below, share, len(usable))


def _medians(log_ratios: Array, draws: int, generator: np.random.Generator) -> Array:
    """Medians of ``draws`` resamples."""
    drawn = log_ratios[generator.integers(0, log_ratios.size, (draws, log_ratios.size))]
    return np.asarray(np.median(drawn, axis=1), dtype=float)


def _crossings(xs: Array, medians: Array, changes: Array) -> Array:
    """Where each row, which changes its sign once, is zero."""
    rows = np.arange(len(medians))
    left = changes.argmax(axis=1)
    y0, y1 = medians[rows, left], medians[rows, left + 1]
    share = np.divide(-y0, y1 - y0, out=np.full_like(y0, 0.5), where=y1 != y0)
    return np.asarray(xs[left] + share * (xs[left + 1] - xs[left]), dtype=float)

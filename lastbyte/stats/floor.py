"""The noise floor: how far a client seems to differ from itself.

Run as two arms in the same rounds (A/A), one client gives a comparison whose true difference is zero. The end of its
interval farther from zero is the largest difference that this apparatus, with so many rounds, produces out of nothing;
what it finds between two clients below that is muted. The floor shrinks with more rounds and a quieter link, and a
floor whose own interval leaves zero out is a warning: the apparatus prefers an arm (or it is the one in twenty).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from lastbyte.stats.paired import MIN_ROUNDS_FOR_VERDICT, Comparison, compare


@dataclass(frozen=True, slots=True)
class Floor:
    """What one client against itself gave."""

    n: int
    """Paired rounds."""
    floor_pct: float | None
    """Where the slower arm is slower by up to this many percent, that is noise; None below six rounds."""
    diff_pct: float | None
    ci_low_pct: float | None
    ci_high_pct: float | None
    biased: bool
    """The interval leaves out zero: the two arms differ though nothing differs between them."""


def noise_floor(first_s: Sequence[float], second_s: Sequence[float], confidence: float = 0.95) -> Floor:
    """Floor from the TTLB in seconds of two arms with the same client, round by round, both shape (n,)."""
    result = compare(first_s, second_s, confidence=confidence)
    low, high = result.ci_low_pct, result.ci_high_pct
    if low is None or high is None or result.n < MIN_ROUNDS_FOR_VERDICT:
        return Floor(result.n, None, result.diff_pct, low, high, biased=False)
    return Floor(result.n, max(_size(low), _size(high)), result.diff_pct, low, high, biased=low > 0 or high < 0)


def with_floor(comparison: Comparison, floor: Floor) -> Comparison:
    """The comparison, marked ``below_floor`` where its difference is no larger than the floor; its verdict stays.

    Not marked where either is unknown: then nothing is known about the noise.
    """
    if floor.floor_pct is None or comparison.diff_pct is None:
        return comparison
    below = _size(comparison.diff_pct) <= floor.floor_pct
    return dataclasses.replace(comparison, below_floor=below)


def _size(diff_pct: float) -> float:
    """Percent by which the slower is slower, the same for a ratio and its inverse: -50 % and +100 % are both 100."""
    if diff_pct <= -100:
        return math.inf
    return diff_pct if diff_pct >= 0 else 100 * (1 / (1 + diff_pct / 100) - 1)

"""When did a series of nightly medians change its level, and by how much?

Change points minimise the squared error of a piecewise constant line through the logarithms, with a penalty of
3 sigma^2 ln n for each (a strengthened BIC), found exactly by PELT (Killick, Fearnhead and Eckley 2012, JASA 107)
as ruptures implements it (Truong, Oudre and Vayatis 2020, Signal Processing 167). Sigma comes from differences of
neighbours, which a change of level hardly touches. A change is kept only where the interval of the shift between
the stretches on its two sides leaves out zero (`lastbyte.stats.regression.shift`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lastbyte.stats.intervals import Array
from lastbyte.stats.regression import Shift, shift

MIN_STRETCH = 5
"""Values on either side of a change, at least: fewer can't be told from an odd night or two."""
PENALTY = 3.0
CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level."""

    index: int
    """Of the first value on the new level."""
    shift: Shift
    """New level against old."""


def change_points(values: Sequence[float], confidence: float = CONFIDENCE) -> list[Change]:
    """Changes of level of ``values`` (times or ratios, above zero, in order of time); none below ten values."""
    if len(values) < 2 * MIN_STRETCH:
        return []
    logs = np.log(np.asarray(values, dtype=float))
    sigma = _sigma(logs)
    if sigma == 0:
        sigma = 1e-9  # all differences are zero but some: any change is one
    from ruptures import KernelCPD  # noqa: PLC0415 - a tenth of a second to import, wanted by trends alone

    found = KernelCPD(kernel="linear", min_size=MIN_STRETCH).fit(logs.reshape(-1, 1))
    bounds = [0, *(int(b) for b in found.predict(pen=PENALTY * sigma**2 * math.log(len(logs))))]
    changes = []
    for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        moved = shift(values[start:at], values[at:end], confidence)
        if moved.ci_low_pct is not None and moved.ci_high_pct is not None and not _holds_zero(moved):
            changes.append(Change(at, moved))
    return changes


def _holds_zero(moved: Shift) -> bool:
    return (moved.ci_low_pct or 0.0) <= 0 <= (moved.ci_high_pct or 0.0)


def _sigma(logs: Array) -> float:
    """Standard deviation of the noise, from the median absolute difference of neighbours."""
    steps = np.abs(np.diff(logs))
    return float(np.median(steps)) / (0.6744897501960817 * math.sqrt(2))

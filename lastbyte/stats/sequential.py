"""Stopping a cell when its answer is known, without paying for it in false answers.

Looking after every round and stopping at the first verdict is wrong: where nothing differs, nearly one cell in five
then reports a difference (docs/adr/0010). Here the rounds at which one looks are few and fixed beforehand, and a
direction is never a reason to stop. The reasons are:

- **narrow**: the interval is narrower than the target. That looks at the width, hardly at the place of the interval;
  stopping so keeps the level in the long run (Geertsema 1970, "Sequential confidence intervals based on rank tests",
  Ann. Math. Statist. 41, for this very interval). In the short run a chance-narrow interval stops a cell too early, so
  the interval is taken at 96.2 % instead of 95 %: that brings the coverage back to 94 to 97 % (ADR 0010).
- **equivalent**: a second, much wider interval lies within the equivalence margin. It is repeated at each look at the
  level that an O'Brien-Fleming-like function leaves for it (Lan and DeMets 1983, "Discrete sequential boundaries for
  clinical trials", Biometrika 70; Jennison and Turnbull 1989, "Interim analyses: the repeated confidence interval
  approach", JRSS B 51), so it holds whatever the reason to stop was.
- **maximum**: no more rounds are planned.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lastbyte.stats.intervals import SMALLEST_N, Array, order_ends, order_weights
from lastbyte.stats.paired import EQUIVALENCE_PCT, percent

MAX_LOOKS = 3
"""Errors grow with the number of looks: at four, up to 5.6 % of A/A cells got a direction in simulations (ADR 0010)."""

_GUARD = 0.76
"""Share of the error that the interval may use when there are two or more looks; found by simulation (ADR 0010)."""


class StopReason(enum.StrEnum):
    """Why a cell needs no more rounds."""

    NARROW = "narrow"
    EQUIVALENT = "equivalent"
    MAXIMUM = "maximum"


@dataclass(frozen=True, slots=True)
class Plan:
    """When to look and what to look for; fixed before the first round. Raises ValueError where it makes no sense."""

    target_width_pct: float = 4.0
    """Stop when the interval, in percent, is at most so wide from end to end."""
    equivalence_pct: float = EQUIVALENCE_PCT
    min_rounds: int = 12
    """Paired rounds at the first look."""
    max_rounds: int = 36
    """Paired rounds at the last."""
    looks: int = 3
    """How many, evenly spaced; 1 means no early stop."""
    confidence: float = 0.95
    """What the interval at the stop is to cover with."""

    def __post_init__(self) -> None:
        if not 1 <= self.looks <= MAX_LOOKS:
            msg = f"looks must be 1 to {MAX_LOOKS}, not {self.looks}"
            raise ValueError(msg)
        if self.min_rounds < SMALLEST_N:
            msg = f"min_rounds must be {SMALLEST_N} or more, not {self.min_rounds}: fewer pairs give no verdict"
            raise ValueError(msg)
        if self.max_rounds < self.min_rounds + self.looks - 1:
            msg = (
                f"max_rounds ({self.max_rounds}) leaves no room for {self.looks} looks from {self.min_rounds} rounds on"
            )
            raise ValueError(msg)
        if not (self.target_width_pct > 0 and self.equivalence_pct >= 0):
            raise ValueError("target_width_pct must be above zero and equivalence_pct not below it")
        if not 0.5 <= self.confidence < 1:
            raise ValueError("confidence must be at least 0.5 and below 1")

    @property
    def look_rounds(self) -> tuple[int, ...]:
        """Numbers of paired rounds at which to look; the last is ``max_rounds``."""
        if self.looks == 1:
            return (self.max_rounds,)
        step = (self.max_rounds - self.min_rounds) / (self.looks - 1)
        return tuple(round(self.min_rounds + i * step) for i in range(self.looks))

    @property
    def interval_confidence(self) -> float:
        """Nominal level of the interval at the stop; give it to `paired.compare` for cells measured by this plan."""
        return self.confidence if self.looks == 1 else 1 - (1 - self.confidence) * _GUARD

    def equivalence_confidences(self) -> tuple[float, ...]:
        """Level of the repeated interval at each look; what they leave adds up to 1 - confidence (Bonferroni)."""
        normal = NormalDist()
        z = normal.inv_cdf((1 + self.confidence) / 2)
        spent = [2 * normal.cdf(-z / math.sqrt(n / self.max_rounds)) for n in self.look_rounds]
        return tuple(1 - (now - before) for before, now in zip([0.0, *spent], spent, strict=False))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to go on."""

    reason: StopReason | None
    """Why to stop; None: go on."""
    n: int
    """Paired rounds the decision rests on: those of the look that stopped, or of the last look so far."""
    low_pct: float | None
    """The interval at that look, in percent; None before the first, -100 or infinite where time-outs leave it open."""
    high_pct: float | None
    confidence: float
    """Nominal level of that interval (its coverage is the plan's ``confidence``)."""
    next_look: int | None
    """Paired rounds at the next look; None after a stop."""
    rounds_expected: int
    """Paired rounds at which the interval will be narrow enough, if its width falls as one over the root of n; the
    number of the stop once stopped."""
    rounds_saved: int
    """Of ``max_rounds``; 0 while going on."""

    @property
    def stop(self) -> bool:
        """No more rounds are needed."""
        return self.reason is not None


def decide(
    log_ratios: Sequence[float] | Array,
    plan: Plan,
    upper: Sequence[float] | Array | None = None,
    rounds_done: int | None = None,
) -> Decision:
    """Whether a cell may stop, from its paired log-ratios in the order of rounds, shape (n,).

    Ask after each round: between looks the answer is to go on. The looks are taken again from the start each time, so
    the answer is the same after a restart, and rounds beyond a stop change nothing. ``upper`` are the upper bounds
    where pairs timed out (`censored.ratio_bounds`; then ``log_ratios`` are the lower ones). ``rounds_done`` counts all
    rounds, those without a pair too: at ``max_rounds`` of them the cell stops with the pairs it has.
    """
    low = np.asarray(log_ratios, dtype=float)
    high = low if upper is None else np.asarray(upper, dtype=float)
    if low.shape != high.shape or low.ndim != 1 or np.isnan(low).any() or np.isnan(high).any():
        raise ValueError("log ratios must be numbers, and bounds of one length")
    last: Decision | None = None
    for look, level in zip(plan.look_rounds, plan.equivalence_confidences(), strict=True):
        if look > low.size:
            break
        last = _look(low[:look], high[:look], plan, level)
        if last.stop:
            return last
    if rounds_done is not None and rounds_done >= plan.max_rounds:
        return _out_of_rounds(low, high, plan, rounds_done)
    if last is not None:
        return last
    level = plan.interval_confidence
    return Decision(None, 0, None, None, level, plan.look_rounds[0], plan.look_rounds[0], 0)


def _look(low: Array, high: Array, plan: Plan, equivalence_level: float) -> Decision:
    n = low.size
    low_pct, high_pct = _interval_pct(low, high, plan.interval_confidence)
    reason = None
    if high_pct - low_pct <= plan.target_width_pct:
        reason = StopReason.NARROW
    elif _equivalent(low, high, plan, equivalence_level):
        reason = StopReason.EQUIVALENT
    elif n == plan.max_rounds:
        reason = StopReason.MAXIMUM
    if reason is not None:
        return Decision(reason, n, low_pct, high_pct, plan.interval_confidence, None, n, plan.max_rounds - n)
    coming = [look for look in plan.look_rounds if look > n]
    needed = n * ((high_pct - low_pct) / plan.target_width_pct) ** 2
    expected = next((look for look in coming if look >= needed), plan.max_rounds)
    return Decision(None, n, low_pct, high_pct, plan.interval_confidence, coming[0], expected, 0)


def _equivalent(low: Array, high: Array, plan: Plan, level: float) -> bool:
    if order_weights(low.size, level) is None:
        return False  # so early that no interval of that level exists
    low_pct, high_pct = _interval_pct(low, high, level)
    return -plan.equivalence_pct <= low_pct and high_pct <= plan.equivalence_pct


def _out_of_rounds(low: Array, high: Array, plan: Plan, rounds_done: int) -> Decision:
    low_pct, high_pct = _interval_pct(low, high, plan.interval_confidence) if low.size else (None, None)
    return Decision(StopReason.MAXIMUM, low.size, low_pct, high_pct, plan.interval_confidence, None, rounds_done, 0)


def _interval_pct(low: Array, high: Array, confidence: float) -> tuple[float, float]:
    ends = order_ends(np.sort(low)[None, :], np.sort(high)[None, :], confidence)[0]
    return percent(float(ends[0])), percent(float(ends[1]))

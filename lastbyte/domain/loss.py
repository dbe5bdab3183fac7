"""Loss that comes in bursts: the two Markov models that netem knows, and what its correlation really does.

Both models are those of Salsano, Ludovici, Ordine and Giannuzzi, "Definition of a general and intuitive loss model for
packet networks and its implementation in the Netem module in the Linux kernel" (University of Rome "Tor Vergata",
2012); their parameters carry the names that tc-netem(8) gives them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields

from lastbyte.domain.errors import InvalidInput

_GRID = 800
_ROUNDS = 400


@dataclass(frozen=True, slots=True)
class GilbertElliott:
    """Two states, good and bad, each with a loss of its own (Gilbert 1960, Elliott 1963). All in percent per packet."""

    p_pct: float
    """From good to bad."""
    r_pct: float
    """From bad to good: a bad spell lasts 100 / r packets on average."""
    bad_loss_pct: float = 100.0
    """Loss in the bad state, 1-h of tc-netem(8)."""
    good_loss_pct: float = 0.0
    """Loss in the good state, 1-k of tc-netem(8)."""

    @property
    def mean_loss_pct(self) -> float:
        """Loss in the long run, in percent."""
        bad = self.p_pct / (self.p_pct + self.r_pct)
        return bad * self.bad_loss_pct + (1 - bad) * self.good_loss_pct

    @property
    def burst_factor(self) -> float:
        """How much wider the count of losses scatters than that of independent losses of the same mean (variance).

        Neighbouring packets are as alike as the chain remembers: (1 + m) / (1 - m) with m = 1 - p - r, at least 1.
        """
        memory = 1 - (self.p_pct + self.r_pct) / 100
        return max(1.0, (1 + memory) / (1 - memory))

    def validate(self, field_name: str) -> None:
        """Raise InvalidInput naming ``field_name``.x when a value is no percentage or the chain can't leave a state."""
        _check_percentages(self, field_name)
        if self.r_pct == 0:
            raise InvalidInput(f"{field_name}.r_pct", "0 never leaves the bad state.", "Use more than 0.")


@dataclass(frozen=True, slots=True)
class FourState:
    """Four states: 1 good, 2 good within a burst, 3 lost within a burst, 4 a single loss. All in percent per packet."""

    p13_pct: float
    """From good into a burst of losses."""
    p31_pct: float
    """From a burst's loss back to good."""
    p32_pct: float = 0.0
    """From a burst's loss to a packet that passes within the burst."""
    p23_pct: float = 100.0
    """From a packet that passes within a burst to a loss again."""
    p14_pct: float = 0.0
    """A single loss outside bursts."""

    @property
    def mean_loss_pct(self) -> float:
        """Loss in the long run, in percent: the share of states 3 and 4 in the chain's stationary distribution."""
        good = 1.0
        lost_in_burst = self.p13_pct / self.p31_pct
        passed_in_burst = lost_in_burst * self.p32_pct / self.p23_pct if self.p32_pct else 0.0
        alone = self.p14_pct / 100
        return 100 * (lost_in_burst + alone) / (good + lost_in_burst + passed_in_burst + alone)

    @property
    def burst_factor(self) -> float:
        """How much wider the count of losses scatters than that of independent losses; an upper bound.

        The chain forgets at least as fast as its slowest way out of a burst.
        """
        leave = min(1.0, (self.p13_pct + self.p31_pct) / 100)
        if self.p32_pct:
            leave = min(leave, self.p23_pct / 100)
        return max(1.0, (2 - leave) / leave)

    def validate(self, field_name: str) -> None:
        """Raise InvalidInput naming ``field_name``.x when a value is no percentage or the chain can't leave a state."""
        _check_percentages(self, field_name)
        if self.p31_pct == 0:
            raise InvalidInput(f"{field_name}.p31_pct", "0 never ends a burst.", "Use more than 0.")
        if self.p32_pct and self.p23_pct == 0:
            raise InvalidInput(f"{field_name}.p23_pct", "0 never leaves state 2.", "Use more than 0, or p32_pct = 0.")
        for names, total in (
            (("p13_pct", "p14_pct"), self.p13_pct + self.p14_pct),
            (("p31_pct", "p32_pct"), self.p31_pct + self.p32_pct),
        ):
            if total > 100:
                raise InvalidInput(
                    f"{field_name}.{names[0]}", f"{' and '.join(names)} add up to {total:g} %.", "Use 100 at most."
                )


LossModel = GilbertElliott | FourState


def check_percentage(field_name: str, value: float) -> None:
    """Raise InvalidInput unless ``value`` is 0 to 100 (NaN is not)."""
    if not 0 <= value <= 100:
        raise InvalidInput(field_name, f"{value} is out of range.", "Use 0 to 100 percent.")


def _check_percentages(model: LossModel, field_name: str) -> None:
    for item in fields(model):
        check_percentage(f"{field_name}.{item.name}", getattr(model, item.name))


@functools.lru_cache(maxsize=256)
def correlated_share_pct(percent: float, correlation_pct: float) -> float:
    """Share of packets that netem really hits when told ``percent`` with a correlation, both in percent.

    net/sched/sch_netem.c (get_crandom) mixes each random number with the one before, y' = (1 - rho) u + rho y, and
    compares the mix with the threshold. Mixed numbers crowd round the middle, so small thresholds are hardly ever
    undercut: ``loss 0.3% 25%`` loses four packets in a thousand million, not three in a thousand. tc-netem(8) calls
    the option deprecated "due to the noticed bad behavior". This is the fixed point of the mix's distribution, found on
    a grid.
    """
    rho, threshold = correlation_pct / 100, percent / 100
    if not 0 < rho < 1 or not 0 < threshold < 1:
        return percent
    points = [(index / _GRID) ** 3 for index in range(_GRID + 1)]  # dense where thresholds are small
    below = list(points)
    for _ in range(_ROUNDS):
        area = _Area(points, below)
        renewed = [rho / (1 - rho) * (area.up_to(x / rho) - area.up_to((x - (1 - rho)) / rho)) for x in points]
        change = max(abs(a - b) for a, b in zip(renewed, below, strict=True))
        below = renewed
        if change < 1e-9:
            break
    area = _Area(points, below)
    share = rho / (1 - rho) * (area.up_to(threshold / rho) - area.up_to((threshold - (1 - rho)) / rho))
    return 100 * min(1.0, max(0.0, share))


class _Area:
    """Integral of a distribution function given on the cubic grid; beyond 1 it is 1."""

    def __init__(self, points: list[float], values: list[float]) -> None:
        self._points, self._values = points, values
        self._sums = [0.0]
        for index in range(_GRID):
            width = points[index + 1] - points[index]
            self._sums.append(self._sums[-1] + width * (values[index] + values[index + 1]) / 2)

    def up_to(self, x: float) -> float:
        if x <= 0:
            return 0.0
        if x >= 1:
            return self._sums[-1] + x - 1
        index = min(_GRID - 1, int(_GRID * x ** (1 / 3)))
        width = x - self._points[index]
        whole = self._points[index + 1] - self._points[index]
        slope = (self._values[index + 1] - self._values[index]) / whole
        return self._sums[index] + width * (self._values[index] + slope * width / 2)

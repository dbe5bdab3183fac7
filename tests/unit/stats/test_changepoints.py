from __future__ import annotations

import numpy as np
import pytest

from lastbyte.stats.changepoints import change_points

GENERATOR = np.random.default_rng(11)


def nights(*levels: tuple[int, float], noise: float = 0.05) -> list[float]:
    return [float(level * np.exp(GENERATOR.normal(0, noise))) for count, level in levels for _ in range(count)]


def test_a_change_is_dated_and_sized() -> None:
    (change,) = change_points(nights((60, 0.5), (40, 0.6)))
    assert change.index == 60
    assert change.shift.diff_pct == pytest.approx(20, abs=4)


def test_changes_up_and_down() -> None:
    up, down = change_points(nights((20, 1), (20, 1.5), (20, 1)))
    assert (up.index, down.index) == (20, 40)
    assert (down.shift.diff_pct or 0) < 0 < (up.shift.diff_pct or 0)


def test_a_quiet_year_has_no_changes() -> None:
    alarms = sum(len(change_points(nights((365, 1)))) for _ in range(40))
    assert alarms <= 2


def test_one_odd_night_is_no_change() -> None:
    series = nights((30, 1))
    series[15] = 10
    assert change_points(series) == []


def test_short_and_constant_series() -> None:
    assert change_points(nights((9, 1))) == []
    assert change_points([1.0] * 30) == []
    (change,) = change_points([1.0] * 15 + [2.0] * 15)
    assert change.index == 15

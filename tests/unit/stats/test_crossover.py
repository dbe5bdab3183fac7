from __future__ import annotations

import numpy as np
import pytest

from lastbyte.stats.crossover import Crossing, Crossover, Place, crossover

GENERATOR = np.random.default_rng(3)


def line(levels: dict[float, float], noise: float = 0.02, n: int = 20) -> list[Place]:
    return [Place(x, tuple(GENERATOR.normal(level, noise, n))) for x, level in levels.items()]


def test_a_crossing_is_found_with_its_interval() -> None:
    found = crossover(line({0: 0.10, 1: 0.05, 2: -0.05, 4: -0.20}))
    assert found.kind is Crossing.FOUND
    assert found.x == pytest.approx(1.5, abs=0.2)
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_low < 1.5 < found.ci_high
    assert found.h3_faster_below is False
    assert found.agreement > 0.99


def test_intervals_hold_the_true_place() -> None:
    hits = 0
    for _ in range(150):
        found = crossover(line({0: 0.1, 1: 0.03, 3: -0.05, 5: -0.3}, 0.03), draws=400)
        assert found.kind is Crossing.FOUND
        hits += (found.ci_low or 0) <= 1.75 <= (found.ci_high or 0)
    assert hits / 150 >= 0.9


def test_nothing_is_claimed_where_it_is_uncertain() -> None:
    assert crossover(line({0: 0.001, 1: -0.001, 2: 0.001}, 0.2)).kind is Crossing.UNCERTAIN


def test_lines_that_do_not_cross_once() -> None:
    assert crossover(line({0: -0.1, 1: -0.2})).kind is Crossing.H3_THROUGHOUT
    assert crossover(line({0: 0.1, 1: 0.2})).kind is Crossing.H2_THROUGHOUT
    assert crossover(line({0: 0.1, 1: -0.2, 2: 0.1})).kind is Crossing.SEVERAL
    assert crossover(line({0: 0.1, 1: -0.1}, n=5)) == Crossover(Crossing.TOO_FEW)


def test_the_same_input_gives_the_same_answer() -> None:
    cells = line({0: 0.1, 1: -0.1})
    assert crossover(cells) == crossover(cells)

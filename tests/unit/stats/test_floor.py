"""The A/A floor: what is muted and what is not."""

import numpy as np
import pytest

from lastbyte.stats.floor import noise_floor, with_floor
from lastbyte.stats.paired import Verdict, compare

RNG = np.random.default_rng(4)
DRIFT = np.linspace(1, 2, 20)


def _arm(shift: float = 1.0, sigma: float = 0.05) -> np.ndarray:
    return DRIFT * shift * RNG.lognormal(0, sigma, 20)


def test_an_effect_below_the_floor_is_flagged_and_keeps_its_verdict() -> None:
    noisy = noise_floor(_arm(sigma=0.1), _arm(sigma=0.1))
    assert noisy.floor_pct is not None
    small = compare(DRIFT, DRIFT * (1 + noisy.floor_pct / 200))
    marked = with_floor(small, noisy)
    assert marked.below_floor
    assert marked.verdict is small.verdict


def test_an_effect_above_the_floor_is_not_flagged_either_way_round() -> None:
    floor = noise_floor(_arm(sigma=0.01), _arm(sigma=0.01))
    assert floor.floor_pct is not None
    assert floor.floor_pct < 3
    assert not floor.biased
    assert not with_floor(compare(DRIFT, DRIFT * 1.2), floor).below_floor
    assert not with_floor(compare(DRIFT, DRIFT / 1.2), floor).below_floor


def test_the_floor_is_the_same_for_a_ratio_and_its_inverse() -> None:
    one, other = _arm(), _arm()
    assert noise_floor(one, other).floor_pct == pytest.approx(noise_floor(other, one).floor_pct)


def test_arms_that_differ_though_nothing_does_are_called_biased() -> None:
    floor = noise_floor(DRIFT, DRIFT * 1.1)
    assert floor.biased
    assert floor.floor_pct == pytest.approx(10)


def test_too_few_rounds_give_no_floor_and_flag_nothing() -> None:
    floor = noise_floor([1.0] * 5, [1.1] * 5)
    assert floor.floor_pct is None
    tiny = compare([1.0] * 8, [1.0001] * 8)
    assert not with_floor(tiny, floor).below_floor
    assert tiny.verdict is Verdict.EQUIVALENT

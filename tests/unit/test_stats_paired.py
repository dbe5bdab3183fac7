"""Statistics of two arms: what a reader of a heatmap square relies on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.stats.paired import Verdict, compare, paired_rounds

times = st.floats(min_value=1e-3, max_value=1e3)


def test_half_the_time_is_minus_fifty_percent() -> None:
    result = compare([1.0, 2.0, 4.0, 1.0, 3.0, 2.0], [0.5, 1.0, 2.0, 0.5, 1.5, 1.0])
    assert result.diff_pct == pytest.approx(-50)
    assert result.n == 6
    assert result.verdict is Verdict.H3_FASTER


def test_drift_between_rounds_does_not_become_a_difference() -> None:
    drift = np.linspace(1, 3, 12)
    result = compare(drift, drift * 1.1)
    assert result.diff_pct == pytest.approx(10)
    assert result.ci_low_pct == pytest.approx(10)
    assert result.verdict is Verdict.H2_FASTER


def test_a_small_difference_inside_the_margin_is_equivalent_not_zero() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(1, 0.002, 20)
    result = compare(base, base * 1.01 * rng.normal(1, 0.001, 20))
    assert result.verdict is Verdict.EQUIVALENT
    assert result.diff_pct is not None
    assert 0.5 < result.diff_pct < 1.5


def test_noise_round_zero_is_inconclusive() -> None:
    rng = np.random.default_rng(2)
    assert compare(rng.lognormal(0, 0.3, 10), rng.lognormal(0, 0.3, 10)).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_too_few_rounds_never_give_a_verdict(n: int) -> None:
    result = compare([1.0] * n, [2.0] * n)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.diff_pct == pytest.approx(100)


def test_no_rounds_is_no_data() -> None:
    result = compare([], [])
    assert (result.n, result.diff_pct, result.verdict) == (0, None, Verdict.NO_DATA)


@pytest.mark.parametrize(
    ("baseline", "candidate"), [([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([float("nan")], [1.0]), ([1.0], [float("inf")])]
)
def test_impossible_times_are_refused(baseline: list[float], candidate: list[float]) -> None:
    with pytest.raises(ValueError, match=r"length|above zero|finite"):
        compare(baseline, candidate)


@given(st.lists(st.tuples(times, times), min_size=2, max_size=25))
def test_interval_holds_the_estimate_and_swapping_arms_mirrors_it(pairs: list[tuple[float, float]]) -> None:
    a = [p[0] for p in pairs]
    b = [p[1] for p in pairs]
    forth, back = compare(a, b), compare(b, a)
    assert forth.diff_pct is not None
    assert back.diff_pct is not None
    assert (1 + forth.diff_pct / 100) * (1 + back.diff_pct / 100) == pytest.approx(1, rel=1e-6)
    low, high = forth.ci_low_pct, forth.ci_high_pct
    assert low is not None
    assert high is not None
    slack = 1e-9 * max(1.0, abs(forth.diff_pct))
    assert low - slack <= forth.diff_pct <= high + slack


def test_same_input_gives_the_same_interval() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.lognormal(0, 0.1, 15), rng.lognormal(0.05, 0.1, 15)
    assert compare(a, b) == compare(a, b)


def test_interval_covers_a_known_effect_about_95_times_in_100() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for seed in range(400):
        result = compare(np.ones(20), np.exp(rng.normal(0.1, 0.1, 20)), seed=seed)
        assert result.ci_low_pct is not None
        assert result.ci_high_pct is not None
        covered += result.ci_low_pct <= (np.exp(0.1) - 1) * 100 <= result.ci_high_pct
    assert 0.90 <= covered / 400 <= 0.99


def test_only_rounds_in_which_both_arms_succeeded_are_paired() -> None:
    assert paired_rounds({1: 1.0, 2: 2.0, 4: 4.0}, {2: 20.0, 3: 30.0, 4: 40.0}) == ([2.0, 4.0], [20.0, 40.0])

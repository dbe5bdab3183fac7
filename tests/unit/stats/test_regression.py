from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from lastbyte.stats.regression import (
    Judgement,
    Sample,
    holm,
    judge,
    more_failures_p,
    overall,
    shift,
    slower_p,
)

GENERATOR = np.random.default_rng(7)


def times(n: int, centre_s: float, spread: float = 0.05) -> tuple[float, ...]:
    return tuple(centre_s * np.exp(GENERATOR.normal(0, spread, n)))


@pytest.mark.parametrize(("n", "m"), [(3, 4), (8, 11), (20, 20), (30, 40)])
def test_p_values_are_those_of_scipy(n: int, m: int) -> None:
    one, two = times(n, 1.0), times(m, 1.02)
    method = "exact" if n * m <= 400 else "asymptotic"
    expected = scipy_stats.mannwhitneyu(two, one, alternative="greater", method=method).pvalue
    assert slower_p(Sample(one), Sample(two)) == pytest.approx(expected, rel=1e-9)
    table = [[3, 17], [1, 24]]
    expected = scipy_stats.fisher_exact(table, alternative="greater").pvalue
    assert more_failures_p(Sample((1.0,) * 24, failures=1), Sample((1.0,) * 17, failures=3)) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 10), (40, 25)])
def test_intervals_hold_their_level(n: int, m: int) -> None:
    hits = 0
    for _ in range(800):
        found = shift(times(n, 1.0, 0.2), times(m, 1.1, 0.2))
        assert found.ci_low_pct is not None
        assert found.ci_high_pct is not None
        hits += found.ci_low_pct <= 10 <= found.ci_high_pct
    assert hits / 800 >= 0.93


def test_an_interval_needs_enough_values() -> None:
    assert shift((1.0, 1.1), (1.0, 1.2)).ci_low_pct is None
    assert shift((), (1.0,)).diff_pct is None


def test_holm() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06)]


def test_slower_than_the_tolerance_fails_and_within_it_passes() -> None:
    base = Sample(times(20, 1.0))
    slower, same, between = judge(
        [(base, Sample(times(20, 1.3))), (base, Sample(times(20, 1.0))), (base, Sample(times(20, 1.1)))], 10
    )
    assert (slower.judgement, same.judgement) == (Judgement.FAIL, Judgement.PASS)
    assert between.judgement is Judgement.INCONCLUSIVE
    assert overall([slower.judgement, same.judgement]) is Judgement.FAIL
    assert overall([same.judgement, between.judgement]) is Judgement.INCONCLUSIVE
    assert overall([same.judgement]) is Judgement.PASS
    assert overall([]) is Judgement.INCONCLUSIVE


def test_failing_more_often_fails_however_fast_the_rest_is() -> None:
    base = Sample(times(10, 1.0))
    (broken,) = judge([(base, Sample(times(2, 0.5), failures=8))], 10)
    assert broken.judgement is Judgement.FAIL
    assert "8 of 10" in broken.reason
    (doubtful,) = judge([(base, Sample(times(8, 0.5), failures=2))], 10)
    assert doubtful.judgement is Judgement.INCONCLUSIVE


def test_time_outs_count_as_slow() -> None:
    base = Sample(times(10, 1.0))
    p = slower_p(base, Sample(times(3, 1.0), timed_out=7, failures=7))
    assert p is not None
    assert p < 0.05


def test_two_hundred_cells_without_a_change_hardly_ever_fail() -> None:
    alarms = sum(
        overall([i.judgement for i in judge([(Sample(times(10, 1)), Sample(times(10, 1))) for _ in range(200)], 0)])
        is Judgement.FAIL
        for _ in range(30)
    )
    assert alarms <= 4  # 5 % of 30 are 1.5

"""Intervals of a median: against SciPy, against tables, and where samples are odd."""

import time
import warnings

import numpy as np
import pytest
from scipy import stats as scipy_stats

from lastbyte.stats.intervals import attained, median_intervals, order_weights, ragged_intervals
from lastbyte.stats.paired import compare_cells

ROW = np.array([[3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3, 5.8, 9.7, 9.3, 2.3, 8.4]])


@pytest.mark.parametrize(("n", "rank"), [(6, 1), (9, 2), (12, 3), (20, 6), (30, 10), (40, 14), (100, 40)])
def test_ranks_are_those_of_the_sign_test(n: int, rank: int) -> None:
    """The table of distribution-free 95 % intervals of a median (Conover 1999, table A3; Gibbons)."""
    weights = order_weights(n, 0.95)
    assert weights is not None
    assert weights[0] == rank
    covered = 1 - 2 * scipy_stats.binom.cdf(rank - 1, n, 0.5)
    inside = 1 - 2 * scipy_stats.binom.cdf(rank, n, 0.5)
    assert inside < 0.95 <= covered


def test_the_interval_lies_between_the_exact_ones_either_side() -> None:
    ordered = np.sort(ROW[0])
    low, high = median_intervals(ROW)[0]
    assert ordered[2] < low < ordered[3]
    assert ordered[8] < high < ordered[9]


@pytest.mark.parametrize("n", [6, 7, 10, 15, 20, 41, 60])
def test_bca_is_what_scipy_comes_to_with_many_resamples(n: int) -> None:
    sample = np.random.default_rng(n).lognormal(0, 0.3, n)
    theirs = scipy_stats.bootstrap(
        (sample,), np.median, n_resamples=30_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    ours = median_intervals(sample[None, :], method="bca")[0]
    # a bootstrapped median takes few values, so either both pick the same one or a neighbour
    tolerance = np.diff(np.sort(sample)).max() / 2
    assert ours == pytest.approx([theirs.low, theirs.high], abs=0.15 * tolerance)


@pytest.mark.parametrize("method", ["order", "bca"])
def test_a_sample_without_spread_gives_an_interval_without_width(method: str) -> None:
    result = median_intervals(np.full((2, 10), 0.25), method=method)  # type: ignore[arg-type]
    assert result.tolist() == [[0.25, 0.25], [0.25, 0.25]]


@pytest.mark.parametrize("method", ["order", "bca"])
def test_ties_give_finite_ends_from_the_sample(method: str) -> None:
    low, high = median_intervals(np.array([[1.0] * 7 + [2.0] * 5]), method=method)[0]  # type: ignore[arg-type]
    assert low == 1.0
    assert 1.0 <= high <= 2.0


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_values_give_their_whole_range_and_say_what_it_is_worth(n: int) -> None:
    sample = np.arange(n, dtype=float)[None, :]
    assert median_intervals(sample)[0].tolist() == [0, n - 1]
    assert attained(n) == 1 - 2 * 0.5**n < 0.95
    assert compare_cells([([1.0] * n, [2.0] * n)])[0].confidence == attained(n)


def test_a_higher_level_is_wider_and_moving_a_sample_moves_its_interval() -> None:
    narrow, wide = median_intervals(ROW, 0.9)[0], median_intervals(ROW, 0.99)[0]
    assert wide[0] <= narrow[0] < narrow[1] <= wide[1]
    assert median_intervals(ROW + 5)[0] == pytest.approx(median_intervals(ROW)[0] + 5)
    assert median_intervals(-ROW)[0] == pytest.approx(-median_intervals(ROW)[0][::-1])


def test_cells_with_other_numbers_of_rounds_keep_their_places() -> None:
    rng = np.random.default_rng(5)
    samples = [rng.normal(0, 1, n) for n in (12, 0, 7, 12, 3)]
    together = ragged_intervals(samples)
    assert np.isnan(together[1]).all()
    for i in (0, 2, 3, 4):
        assert together[i].tolist() == median_intervals(samples[i][None, :])[0].tolist()


def test_thousands_of_values_do_not_overflow() -> None:
    sample = np.random.default_rng(6).normal(0, 1, (1, 5001))
    low, high = median_intervals(sample)[0]
    assert low < np.median(sample) < high
    assert high - low == pytest.approx(2 * 1.96 * 1.2533 / np.sqrt(5001), rel=0.25)
    bca = median_intervals(sample[:, :2000], method="bca")[0]
    assert bca == pytest.approx(median_intervals(sample[:, :2000])[0], abs=0.01)


@pytest.mark.parametrize("method", ["order", "bca"])
def test_a_thousand_cells_of_forty_rounds_take_less_than_five_seconds(method: str) -> None:
    rng = np.random.default_rng(7)
    cells = [(rng.lognormal(0, 0.1, n), rng.lognormal(0, 0.1, n)) for n in rng.integers(38, 41, 1000)]
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(compare_cells(cells, method=method)) == 1000  # type: ignore[arg-type]
    assert time.perf_counter() - started < 5

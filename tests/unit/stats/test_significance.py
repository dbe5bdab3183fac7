"""p values per cell and over the grid, against SciPy and published numbers."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from lastbyte.stats.significance import benjamini_hochberg, spread_p, wilcoxon_cells, wilcoxon_censored_p, wilcoxon_p


def test_wilcoxon_is_scipys_on_log_ratios() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.lognormal(0, 0.2, 25), rng.lognormal(0.1, 0.2, 25)
    assert wilcoxon_p(a, b) == pytest.approx(scipy_stats.wilcoxon(np.log(b) - np.log(a)).pvalue)


def test_six_rounds_all_one_way_have_the_smallest_p_there_is() -> None:
    assert wilcoxon_p([1, 1.1, 1.2, 1.3, 1.4, 1.5], [2, 2.3, 2.6, 2.9, 3.2, 3.5]) == pytest.approx(2 / 2**6)


def test_wilcoxon_of_nothing_and_of_no_difference() -> None:
    assert wilcoxon_p([1.0] * 5, [2.0] * 5) is None
    assert wilcoxon_p([1.0] * 8, [1.0] * 8) == 1.0


def test_a_grid_at_once_is_each_cell_alone_to_the_digit() -> None:
    rng = np.random.default_rng(6)
    cells = [tuple(rng.lognormal(0, 0.2, (2, n))) for n in (5, 6, 12, 12, 40, 40, 60, 60)]
    cells.append((np.full(12, 1.0), np.full(12, 1.1)))  # ties
    cells.append((np.full(12, 1.0), np.full(12, 1.0)))  # zeros
    assert wilcoxon_cells(cells) == [wilcoxon_p(*cell) for cell in cells]
    assert wilcoxon_cells([]) == []


def test_with_time_outs_p_is_the_largest_that_any_true_times_could_give() -> None:
    rng = np.random.default_rng(4)
    reached = 0
    for _ in range(40):
        base, cand = rng.lognormal(0, 0.3, 10), rng.lognormal(0.2, 0.3, 10)
        base_out, cand_out = rng.random(10) < 0.1, rng.random(10) < 0.2
        p = wilcoxon_censored_p(base, cand, base_out, cand_out)
        assert p is not None
        for stretch in (1.0, 1.01, 1.5, 1e6):
            for other in (1.0, 1.3, 1e9):
                true = wilcoxon_p(np.where(base_out, base * stretch, base), np.where(cand_out, cand * other, cand))
                assert true is not None
                assert true <= p + 1e-12
                reached += true == pytest.approx(p)
    assert reached > 40, "the bound is one that times can reach"


def test_without_time_outs_the_censored_p_is_the_plain_one() -> None:
    rng = np.random.default_rng(5)
    base, cand = rng.lognormal(0, 0.2, 12), rng.lognormal(0.1, 0.2, 12)
    none = [False] * 12
    assert wilcoxon_censored_p(base, cand, none, none) == wilcoxon_p(base, cand)
    assert wilcoxon_censored_p(base[:5], cand[:5], none[:5], none[:5]) is None


def test_an_arm_that_always_times_out_is_a_finding() -> None:
    assert wilcoxon_censored_p([1.0] * 8, [60.0] * 8, [False] * 8, [True] * 8) == pytest.approx(0.0078, rel=0.5)
    assert wilcoxon_censored_p([60.0] * 8, [60.0] * 8, [True] * 8, [True] * 8) == 1.0


def test_constant_pairs_are_tested_not_skipped() -> None:
    p = wilcoxon_p([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], [0.11, 0.22, 0.33, 0.44, 0.55, 0.66, 0.77, 0.88])
    assert p is not None
    assert p < 0.02


def test_same_median_other_spread_is_found_and_a_mere_shift_is_not() -> None:
    rng = np.random.default_rng(2)
    steady, shaky = rng.lognormal(0, 0.02, 40), rng.lognormal(0, 0.3, 40)
    assert (spread_p(steady, shaky) or 1) < 0.001
    assert (spread_p(steady, steady * 3) or 0) > 0.99
    assert scipy_stats.ks_2samp(steady, steady * 3).pvalue < 1e-6  # what centring is for
    assert spread_p(steady[:5], shaky) is None


def test_spread_gives_false_alarms_in_at_most_five_of_a_hundred() -> None:
    rng = np.random.default_rng(3)
    alarms = sum((spread_p(*rng.lognormal(0, 0.2, (2, 20))) or 1) <= 0.05 for _ in range(400))
    assert alarms / 400 <= 0.05


def test_benjamini_and_hochbergs_own_example() -> None:
    """Their 1995 paper, section 4.1: fifteen p values, of which the first four are found at 5 %."""
    published = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    published += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    adjusted = benjamini_hochberg(published)
    assert [q is not None and q <= 0.05 for q in adjusted] == [True] * 4 + [False] * 11
    assert adjusted == pytest.approx(scipy_stats.false_discovery_control(published))


def test_cells_without_a_test_stay_without_and_do_not_count() -> None:
    assert benjamini_hochberg([0.04, None, 0.01]) == [pytest.approx(0.04), None, pytest.approx(0.02)]
    assert benjamini_hochberg([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg([1.2])

"""Promises checked on synthetic campaigns with a known effect; ``python -m bench stats`` runs many more of each.

Seeds are fixed, so these pass or fail always. With 3,000 cells, 0.4 points either way are chance.
"""

import pytest

from bench.stats import NOISES, covered_pct, directions_pct, fixed, naive, selection_bias, stopped
from lastbyte.stats.sequential import Plan

PLAN = Plan()


@pytest.mark.parametrize("n", [6, 8, 10, 20, 40])
@pytest.mark.parametrize("noise", sorted(NOISES))
def test_intervals_cover_a_known_effect_in_93_to_97_of_100(noise: str, n: int) -> None:
    assert 93 <= covered_pct(fixed(noise, n, 5.0, 3000, seed=n), 5.0) <= 97.4


@pytest.mark.parametrize("n", [6, 10, 20])
def test_cells_without_a_difference_get_a_verdict_in_at_most_5_of_100(n: int) -> None:
    verdicts = [result.verdict for noise in NOISES for result in fixed(noise, n, 0.0, 2000, seed=n + 1)]
    assert directions_pct(verdicts) <= 5


def test_a_bootstrap_would_not_have_kept_that() -> None:
    """Why verdicts do not rest on BCa: with seven rounds it misses more than twice as often as it says."""
    assert covered_pct(fixed("normal", 7, 5.0, 3000, seed=1, method="bca"), 5.0) < 90


@pytest.mark.parametrize("noise", ["normal", "heavy tails (t, 2 df)", "skewed (exponential)"])
@pytest.mark.parametrize("scale", [0.02, 0.04])
def test_stopping_early_keeps_coverage_and_false_verdicts_and_saves_rounds(noise: str, scale: float) -> None:
    a_a = stopped(noise, scale, 0.0, PLAN, 1500, seed=2)
    assert 93 <= a_a["covered_pct"] <= 97.5
    assert a_a["directions_pct"] <= 5.5
    assert a_a["rounds"] < PLAN.max_rounds - 2


def test_a_difference_just_beyond_the_margin_is_rarely_called_equivalent() -> None:
    for scale in (0.02, 0.04):
        assert stopped("normal", scale, 3.01, PLAN, 1500, seed=3)["equivalent_pct"] <= 5


def test_looking_after_every_round_would_have_called_differences_out_of_nothing() -> None:
    assert naive("normal", 0.1, PLAN, 400, seed=4)["directions_pct"] > 12


def test_the_papers_choice_of_the_best_client_favours_the_side_with_more() -> None:
    assert selection_bias(200, seed=5)["yu2021 mean"] < -2

"""Time-outs: what a reader may conclude from trials that never ended."""

import math

import numpy as np
import pytest

from lastbyte.stats.censored import compare_censored, paired_or_timed_out, ratio_bounds
from lastbyte.stats.paired import Verdict, compare

LIMIT_S = 60.0


def _cell(n: int, candidate_out: int = 0, baseline_out: int = 0, base_s: float = 1.0, cand_s: float = 1.5):
    """n rounds of base_s against cand_s; the first rounds' candidates and the last rounds' baselines time out."""
    baseline = [base_s] * n
    candidate = [cand_s * (1 + i / 1000) for i in range(n)]
    cand_out = [i < candidate_out for i in range(n)]
    base_out = [i >= n - baseline_out for i in range(n)]
    candidate = [LIMIT_S if out else t for t, out in zip(candidate, cand_out, strict=True)]
    baseline = [LIMIT_S if out else t for t, out in zip(baseline, base_out, strict=True)]
    return baseline, candidate, base_out, cand_out


def test_without_time_outs_it_is_the_plain_comparison() -> None:
    baseline, candidate, no, nor = _cell(12)
    assert compare_censored(baseline, candidate, no, nor) == compare(baseline, candidate)


def test_a_few_time_outs_of_the_candidate_leave_the_median_known_and_count_against_it() -> None:
    cell = _cell(12, candidate_out=3)
    result = compare_censored(*cell)
    completed = compare(cell[0][3:], cell[1][3:])
    assert result.timed_out == 3
    assert result.diff_pct is not None
    assert completed.diff_pct is not None
    assert result.diff_pct > completed.diff_pct
    assert result.verdict is Verdict.H2_FASTER


def test_with_half_or_more_timed_out_only_a_bound_is_left() -> None:
    result = compare_censored(*_cell(12, candidate_out=7))
    assert result.diff_pct is None
    assert result.at_least_pct is not None
    assert result.at_most_pct is None
    assert result.at_least_pct > 100
    assert result.ci_high_pct is None
    assert result.verdict is Verdict.H2_FASTER


def test_dropping_time_outs_would_have_called_the_slow_side_faster() -> None:
    """Seven of twelve H3 trials hang and the others are quick: complete pairs alone say H3 is faster."""
    cell = _cell(13, candidate_out=7, cand_s=0.5)
    assert compare(cell[0][7:], cell[1][7:]).verdict is Verdict.H3_FASTER
    result = compare_censored(*cell)
    assert result.verdict is not Verdict.H3_FASTER
    assert result.ci_high_pct is None


def test_both_arms_timing_out_says_nothing_either_way() -> None:
    baseline, candidate = [LIMIT_S] * 8, [LIMIT_S] * 8
    result = compare_censored(baseline, candidate, [True] * 8, [True] * 8)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert (result.diff_pct, result.at_least_pct, result.at_most_pct) == (None, None, None)
    assert (result.ci_low_pct, result.ci_high_pct) == (None, None)
    assert result.timed_out == 8


def test_arms_mirror_each_other() -> None:
    baseline, candidate, base_out, cand_out = _cell(12, candidate_out=4, baseline_out=1)
    forth = compare_censored(baseline, candidate, base_out, cand_out)
    back = compare_censored(candidate, baseline, cand_out, base_out)
    assert forth.verdict is Verdict.H2_FASTER
    assert back.verdict is Verdict.H3_FASTER
    assert forth.diff_pct is not None
    assert back.diff_pct is not None
    assert (1 + forth.diff_pct / 100) * (1 + back.diff_pct / 100) == pytest.approx(1)


def test_a_limit_close_to_the_other_arm_is_a_weak_bound() -> None:
    """The candidate was given up at 1.02 s against 1 s: known to be 2 % slower, perhaps far more."""
    baseline = [1.0] * 9
    candidate = [1.02] * 4 + [1.1] * 5
    result = compare_censored(baseline, candidate, [False] * 9, [True] * 4 + [False] * 5)
    assert result.diff_pct == pytest.approx(10)  # the five completed pairs hold the middle either way
    candidate = [1.02] * 5 + [1.1] * 4
    result = compare_censored(baseline, candidate, [False] * 9, [True] * 5 + [False] * 4)
    assert result.diff_pct is None
    assert result.at_least_pct == pytest.approx(2)


def test_bounds_hold_what_the_trials_would_have_taken() -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(300):
        baseline = rng.lognormal(0, 0.3, 15)
        candidate = baseline * rng.lognormal(0.2, 0.4, 15)
        limit = 2.0
        out_b, out_c = baseline > limit, candidate > limit
        result = compare_censored(np.minimum(baseline, limit), np.minimum(candidate, limit), out_b, out_c)
        truth = math.expm1(0.2) * 100
        low = -math.inf if result.ci_low_pct is None else result.ci_low_pct
        high = math.inf if result.ci_high_pct is None else result.ci_high_pct
        hits += low <= truth <= high
        exact = compare(baseline, candidate)
        if result.diff_pct is not None:
            assert result.diff_pct == pytest.approx(exact.diff_pct)
    assert hits / 300 >= 0.93


def test_rounds_are_matched_and_flags_must_fit() -> None:
    arguments = paired_or_timed_out({1: (1.0, False), 2: (60.0, True)}, {2: (2.0, False), 3: (3.0, False)})
    assert arguments == ([60.0], [2.0], [True], [False])
    low, high = ratio_bounds(*arguments)
    assert low[0] == -math.inf
    assert high[0] == pytest.approx(math.log(2 / 60))
    with pytest.raises(ValueError, match="flag"):
        compare_censored([1.0], [2.0], [True, False], [False])

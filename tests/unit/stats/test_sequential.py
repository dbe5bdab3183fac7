"""When a cell stops and what it may claim then."""

import numpy as np
import pytest

from lastbyte.stats.paired import compare
from lastbyte.stats.sequential import Plan, StopReason, decide

PLAN = Plan(target_width_pct=4, min_rounds=12, max_rounds=36, looks=3)


def _ratios(n: int, sigma: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, sigma, n)


def test_between_looks_it_goes_on_however_clear_things_are() -> None:
    clear = [0.5] * 11
    decision = decide(clear, PLAN)
    assert not decision.stop
    assert decision.next_look == 12
    assert decide([*clear, 0.5], PLAN).reason is StopReason.NARROW


def test_a_quiet_cell_stops_early_and_says_what_it_saved() -> None:
    decision = decide(_ratios(12, 0.005), PLAN)
    assert decision.stop
    assert (decision.n, decision.rounds_saved, decision.next_look) == (12, 24, None)


def test_a_noisy_cell_goes_to_the_maximum_and_no_further() -> None:
    ratios = _ratios(36, 0.5)
    assert not any(decide(ratios[:n], PLAN).stop for n in range(36))
    assert decide(ratios, PLAN).reason is StopReason.MAXIMUM


def test_a_direction_alone_is_no_reason_to_stop() -> None:
    ratios = _ratios(12, 0.2) - 1.0
    assert compare(np.ones(12), np.exp(ratios)).verdict == "h3 faster"
    assert not decide(ratios, PLAN).stop


def test_equivalence_stops_before_the_target_width_is_reached() -> None:
    plan = Plan(target_width_pct=0.5, min_rounds=12, max_rounds=36, looks=3)
    decision = decide(_ratios(24, 0.012), plan)
    assert decision.reason is StopReason.EQUIVALENT
    assert decide(_ratios(36, 0.012) + 0.2, plan).reason is StopReason.MAXIMUM


def test_rounds_after_the_stop_and_restarts_change_nothing() -> None:
    ratios = _ratios(36, 0.02, seed=3)
    at_stop = next(d for n in range(37) if (d := decide(ratios[:n], PLAN)).stop)
    assert decide(ratios, PLAN) == at_stop


def test_the_interval_is_the_one_that_compare_gives_at_the_plans_level() -> None:
    ratios = _ratios(12, 0.005)
    decision = decide(ratios, PLAN)
    result = compare(np.ones(12), np.exp(ratios), confidence=PLAN.interval_confidence)
    assert (decision.low_pct, decision.high_pct) == pytest.approx((result.ci_low_pct, result.ci_high_pct))
    assert 0.95 < PLAN.interval_confidence < 0.97
    assert Plan(looks=1).interval_confidence == 0.95


def test_the_levels_of_the_looks_for_equivalence_add_up_to_the_error_allowed() -> None:
    """Lan and DeMets' O'Brien-Fleming-like spending at thirds: 0.0007, 0.0164, 0.05 in all."""
    left = [1 - level for level in PLAN.equivalence_confidences()]
    assert np.cumsum(left) == pytest.approx([0.00069, 0.01637, 0.05], abs=2e-5)


def test_rounds_without_a_pair_count_towards_the_end() -> None:
    decision = decide(_ratios(9, 0.5), PLAN, rounds_done=36)
    assert decision.reason is StopReason.MAXIMUM
    assert decision.n == 9
    nothing = decide([], PLAN, rounds_done=36)
    assert nothing.stop
    assert nothing.low_pct is None


def test_time_outs_keep_a_cell_going_until_their_bounds_are_narrow() -> None:
    low = _ratios(12, 0.001)
    high = np.where(np.arange(12) < 7, np.inf, low)
    assert decide(low, PLAN).stop
    assert not decide(low, PLAN, upper=high).stop
    assert decide(low, PLAN, upper=np.where(np.arange(12) < 1, np.inf, low)).n == 12


def test_the_rounds_to_come_are_estimated_from_the_width() -> None:
    decision = decide(_ratios(12, 0.05), PLAN)
    assert not decision.stop
    assert decision.rounds_expected in {24, 36}
    assert decide([], PLAN).rounds_expected == 12


@pytest.mark.parametrize(
    "wrong",
    [{"looks": 4}, {"looks": 0}, {"min_rounds": 5}, {"max_rounds": 13}, {"target_width_pct": 0}, {"confidence": 1}],
)
def test_plans_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)).split("_")[0]):
        Plan(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="numbers"):
        decide([float("nan")], PLAN)

"""Which phase makes the difference, and how slow the slow ones are."""

import numpy as np
import pytest

from lastbyte.stats.percentiles import percentiles
from lastbyte.stats.phases import PhaseTimes, decompose

RNG = np.random.default_rng(6)


def _arm(n: int, handshake: float, wait: float, transfer: float, noise: float = 0.001) -> list[PhaseTimes]:
    return [PhaseTimes(*(m + abs(RNG.normal(0, noise)) for m in (handshake, wait, transfer))) for _ in range(n)]


def test_the_saved_round_trip_shows_as_the_handshake() -> None:
    """H2 needs two round trips of 50 ms before the request, H3 one; the rest is equal."""
    result = decompose(_arm(20, 0.100, 0.050, 0.200), _arm(20, 0.050, 0.050, 0.200))
    assert result is not None
    assert result.explains == "handshake"
    handshake, wait, transfer = result.phases
    assert handshake.diff_ms == pytest.approx(-50, abs=1)
    assert handshake.diff_pct == pytest.approx(-50, abs=2)
    assert handshake.of_total_pct == pytest.approx(100, abs=5)
    assert wait.ci_low_ms < 0 < wait.ci_high_ms
    assert transfer.of_total_pct == pytest.approx(0, abs=5)


def test_a_faster_handshake_does_not_explain_a_slower_whole() -> None:
    result = decompose(_arm(20, 0.100, 0.050, 0.200), _arm(20, 0.050, 0.050, 0.400))
    assert result is not None
    assert result.total.diff_ms == pytest.approx(150, abs=2)
    assert result.explains == "transfer"
    assert result.phases[2].of_total_pct == pytest.approx(133, abs=3)
    assert result.phases[0].of_total_pct == pytest.approx(-33, abs=3)


def test_medians_that_do_not_add_up_leave_a_residual_and_no_explanation() -> None:
    """Each round stalls 90 ms, but each time in another phase: no phase's median moves, the total's does."""
    base = [PhaseTimes(0.1, 0.1, 0.1)] * 12
    cand = [
        PhaseTimes(*(0.1 + (0.09 + stall / 1000 if stall % 3 == place else 0) for place in range(3)))
        for stall in range(12)
    ]
    result = decompose(base, cand)
    assert result is not None
    assert result.total.diff_ms > 90
    assert [phase.diff_ms for phase in result.phases] == [0, 0, 0]
    assert result.residual_ms == result.total.diff_ms
    assert result.explains is None


def test_no_difference_has_no_explanation_and_no_shares() -> None:
    result = decompose(_arm(15, 0.1, 0.05, 0.2, 0.01), _arm(15, 0.1, 0.05, 0.2, 0.01))
    assert result is not None
    assert result.explains is None
    assert all(phase.of_total_pct is None for phase in (result.total, *result.phases))


def test_drift_between_rounds_is_not_a_phase() -> None:
    drift = np.linspace(0, 1, 12)
    base = [PhaseTimes(0.1, 0.05, 0.2 + d) for d in drift]
    cand = [PhaseTimes(0.06, 0.05, 0.2 + d) for d in drift]
    result = decompose(base, cand)
    assert result is not None
    assert result.phases[2].diff_ms == 0
    assert result.phases[0].ci_low_ms == result.phases[0].ci_high_ms == pytest.approx(-40)


def test_a_phase_of_zero_has_no_percentage_and_few_rounds_no_explanation() -> None:
    result = decompose([PhaseTimes(0.1, 0, 0.2)] * 3, [PhaseTimes(0.05, 0, 0.2)] * 3)
    assert result is not None
    assert result.phases[1].diff_pct is None
    assert result.explains is None
    assert decompose([PhaseTimes(0.1, 0, 0.2)], [PhaseTimes(0.1, 0, 0.2)]) is None


def test_moments_become_phases_and_nonsense_is_refused() -> None:
    assert PhaseTimes.of_marks(0.25, 0.5, 1.0) == PhaseTimes(0.25, 0.25, 0.5)
    with pytest.raises(ValueError, match="length"):
        decompose([PhaseTimes(1, 1, 1)], [])
    with pytest.raises(ValueError, match="negative"):
        decompose([PhaseTimes.of_marks(1, 0.5, 2)] * 2, [PhaseTimes(1, 1, 1)] * 2)


def test_percentiles_are_numpys_with_n_beside_them() -> None:
    values = RNG.exponential(1, 400)
    found = percentiles(values)
    assert [p.percent for p in found] == [50, 90, 99]
    for p in found:
        assert p.value == np.percentile(values, p.percent)
        assert p.n == 400
        assert p.ci_low is not None
        assert p.ci_high is not None
        assert p.value is not None
        assert p.ci_low <= p.value <= p.ci_high


@pytest.mark.parametrize(("percent", "needed"), [(50, 6), (90, 36), (99, 368)])
def test_the_upper_end_of_a_tail_needs_enough_trials(percent: float, needed: int) -> None:
    """ln 0.025 / ln q trials: below that even the largest value is too likely below the percentile."""
    assert percentiles(list(range(needed - 1)), [percent])[0].ci_high is None
    assert percentiles(list(range(needed)), [percent])[0].ci_high == needed - 1


@pytest.mark.parametrize("percent", [50.0, 90.0])
def test_percentile_intervals_cover(percent: float) -> None:
    truth = -np.log(1 - percent / 100)
    hits = 0
    for _ in range(300):
        p = percentiles(RNG.exponential(1, 60), [percent])[0]
        hits += (p.ci_low or 0) <= truth <= (p.ci_high or np.inf)
    assert hits / 300 >= 0.93


def test_no_values_and_bad_percents() -> None:
    assert percentiles([])[2].value is None
    assert percentiles([5.0])[0].ci_low is None
    with pytest.raises(ValueError, match="percents"):
        percentiles([1.0], [100.0])
    with pytest.raises(ValueError, match="finite"):
        percentiles([float("inf")])

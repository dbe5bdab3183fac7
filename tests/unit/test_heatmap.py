from __future__ import annotations

import pytest

from lastbyte.domain.campaign import CellState
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile
from lastbyte.ports import CellProof, CellRecord, Outcome, RttProbe
from lastbyte.services.heatmap import square, why_unproven
from lastbyte.stats.paired import Verdict

BASE, CAND = "a-h2", "a-h3"


def proof(requested_ms: float, *samples_ms: float) -> CellProof:
    return CellProof("uml", "10.0.0.1", 0.0, RttProbe(requested_ms, samples_ms))


def cell(cell_proof: CellProof | None) -> CellRecord:
    endpoint = Endpoint("e", "p", "https://e.test/", "1MB")
    return CellRecord(1, endpoint, Profile("baseline"), CellState.RUNNING, cell_proof)


def ok(number: int, client: str, ttlb_s: float) -> Outcome:
    return Outcome(1, number, client, "ok", ttlb_s)


@pytest.mark.parametrize(
    ("requested_ms", "samples_ms", "proven"),
    [
        (10.0, (10.9,), True),
        (10.0, (11.1,), False),
        (10.0, (8.9,), False),
        (100.0, (101.9,), True),
        (100.0, (102.1,), False),
        (100.0, (100.0, 100.1, 400.0), True),
        (0.0, (0.9,), True),
        (10.0, (), False),
    ],
)
def test_tolerance_is_a_millisecond_or_two_percent(
    requested_ms: float, samples_ms: tuple[float, ...], proven: bool
) -> None:
    assert (why_unproven(proof(requested_ms, *samples_ms)) is None) is proven


def test_a_cell_without_a_probe_is_unproven() -> None:
    assert why_unproven(None)


def test_pairs_are_rounds_in_which_both_succeeded() -> None:
    outcomes = [ok(n, BASE, 1.0) for n in (1, 2, 3)] + [ok(n, CAND, 2.0) for n in (2, 3, 4)]
    outcomes.append(Outcome(1, 1, CAND, "timeout", None))
    found = square(cell(proof(10, 10)), outcomes, BASE, CAND)
    assert found.n == 2
    assert found.diff_pct == pytest.approx(100)
    assert (found.baseline.n, found.candidate.n, found.candidate.failures) == (3, 3, 1)
    assert found.candidate.failure_kinds == {"timeout": 1}
    assert found.baseline.median_ttlb_ms == 1000


def test_unproven_overrules_every_other_verdict() -> None:
    outcomes = [ok(n, client, 1.0) for n in range(1, 9) for client in (BASE, CAND)]
    assert square(cell(proof(10, 10)), outcomes, BASE, CAND).verdict is Verdict.EQUIVALENT
    assert square(cell(proof(10, 20)), outcomes, BASE, CAND).verdict is Verdict.UNPROVEN


def test_a_cell_that_has_not_begun_says_no_data_not_unproven() -> None:
    found = square(cell(None), [], BASE, CAND)
    assert (found.verdict, found.unproven_reason, found.diff_pct) == (Verdict.NO_DATA, None, None)


def test_one_client_against_itself() -> None:
    outcomes = [ok(n, BASE, 1.0) for n in range(1, 9)]
    assert square(cell(proof(10, 10)), outcomes, BASE, BASE).diff_pct == 0


def test_an_impossible_time_is_left_out() -> None:
    outcomes = [ok(1, BASE, 0.0), ok(1, CAND, 1.0), ok(2, BASE, 1.0), ok(2, CAND, 1.0)]
    assert square(cell(proof(10, 10)), outcomes, BASE, CAND).n == 1


def test_trials_out_of_tolerance_are_left_out_and_the_cell_says_how_many_and_why() -> None:
    outcomes = [ok(n, client, 1.0) for n in range(1, 9) for client in (BASE, CAND)]
    outcomes += [Outcome(1, 9, BASE, "ok", 50.0, "CPU steal: much"), ok(9, CAND, 1.0)]
    outcomes += [ok(10, BASE, 1.0), Outcome(1, 10, CAND, "ok", 50.0, "CPU steal: much")]
    outcomes.append(Outcome(1, 11, CAND, "timeout", None, "CPU steal: much"))
    found = square(cell(proof(10, 10)), outcomes, BASE, CAND)
    assert found.n == 8
    assert found.diff_pct == 0
    assert (found.left_out, found.left_out_reasons) == (2, {"CPU steal": 2})
    assert (found.baseline.n, found.candidate.n) == (9, 9)
    assert found.candidate.failures == 1, "a failure is never hidden"
    assert found.candidate.median_ttlb_ms == 1000


def test_lost_probes_make_a_cell_unproven() -> None:
    silent = CellProof("uml", "10.0.0.1", 0.0, RttProbe(10, (10.0,) * 10, lost=10))
    assert "probes were lost" in (why_unproven(silent, Profile("baseline")) or "")


def test_a_time_out_counts_as_at_least_the_limit_and_against_who_timed_out() -> None:
    outcomes = [ok(n, BASE, 1.0) for n in range(1, 13)]
    outcomes += [ok(n, CAND, 1.2) for n in range(1, 11)]
    outcomes += [Outcome(1, n, CAND, "timeout", None, elapsed_s=60.0) for n in (11, 12)]
    found = square(cell(proof(10, 10)), outcomes, BASE, CAND)
    assert (found.n, found.timed_out, found.candidate.failures) == (12, 2, 2)
    assert found.diff_pct == pytest.approx(20)
    assert found.verdict is Verdict.H2_FASTER


def test_where_time_outs_leave_the_difference_open_a_bound_is_told() -> None:
    outcomes = [ok(n, BASE, 1.0) for n in range(1, 9)]
    outcomes += [Outcome(1, n, CAND, "timeout", None, elapsed_s=60.0) for n in range(1, 9)]
    found = square(cell(proof(10, 10)), outcomes, BASE, CAND)
    assert (found.n, found.diff_pct) == (8, None)
    assert found.at_least_pct == pytest.approx(5900)


def test_a_failure_of_another_kind_has_no_time_and_no_pair() -> None:
    outcomes = [ok(1, BASE, 1.0), Outcome(1, 1, CAND, "reset", None, elapsed_s=60.0)]
    assert square(cell(proof(10, 10)), outcomes, BASE, CAND).n == 0


def test_where_nobody_came_through_there_is_no_data() -> None:
    outcomes = [Outcome(1, n, arm, "timeout", None, elapsed_s=60.0) for n in range(1, 9) for arm in (BASE, CAND)]
    found = square(cell(proof(10, 10)), outcomes, BASE, CAND)
    assert (found.n, found.verdict, found.diff_pct) == (0, Verdict.NO_DATA, None)
    assert (found.baseline.failures, found.candidate.failures) == (8, 8)

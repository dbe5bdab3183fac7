from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import cast

import pytest

from lastbyte.domain.campaign import CampaignSpec, CampaignState, CellState
from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile
from lastbyte.ports import (
    CampaignRecord,
    CampaignStore,
    CellProof,
    CellRecord,
    Outcome,
    Progress,
    ResultStore,
    RttProbe,
)
from lastbyte.services.client_comparison import ClientsComparisons
from lastbyte.services.heatmap import Heatmaps
from lastbyte.services.paper import HeatmapMode
from lastbyte.services.squares import corrected, square, why_unproven
from lastbyte.services.stopping import counted_times
from lastbyte.stats import papermodes
from lastbyte.stats.paired import Verdict, compare, paired_rounds
from lastbyte.stats.percentiles import percentiles
from lastbyte.stats.phases import PhaseTimes, decompose
from lastbyte.stats.significance import benjamini_hochberg, spread_p, wilcoxon_p

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


def drawn(seed: int, rounds: int = 12, slower: float = 1.0, client: str = BASE) -> list[Outcome]:
    """Successful trials with phases; ``slower`` stretches the handshake."""
    draw = random.Random(seed)  # noqa: S311 - noise
    found = []
    for number in range(1, rounds + 1):
        handshake_s = draw.lognormvariate(-3, 0.05) * slower
        ttfb_s = handshake_s + draw.lognormvariate(-4, 0.05)
        ttlb_s = ttfb_s + draw.lognormvariate(-2, 0.05)
        found.append(Outcome(1, number, client, "ok", ttlb_s, "", 1000, ttlb_s, handshake_s, ttfb_s))
    return found


def ttlb(outcomes: list[Outcome]) -> list[float]:
    return [o.ttlb_s for o in outcomes if o.ttlb_s is not None]


def test_a_square_tells_what_the_statistics_tell_to_the_digit() -> None:
    base, cand = drawn(1), drawn(2, slower=3.0, client=CAND)
    found = square(cell(proof(10, 10)), [*cand, *reversed(base)], BASE, CAND)
    assert found.p_value == wilcoxon_p(ttlb(base), ttlb(cand))
    assert found.spread_p == spread_p(ttlb(base), ttlb(cand))
    assert list(found.baseline.percentiles) == percentiles(ttlb(base))
    assert list(found.candidate.percentiles) == percentiles(ttlb(cand))
    marks = [
        [PhaseTimes.of_marks(o.handshake_s or 0, o.ttfb_s or 0, o.ttlb_s or 0) for o in side] for side in (base, cand)
    ]
    assert found.phases == decompose(*marks)
    assert found.phases is not None
    assert found.phases.explains == "handshake"


def test_trials_out_of_tolerance_enter_neither_p_nor_percentiles_nor_phases() -> None:
    base, cand = drawn(1), drawn(2, client=CAND)
    plain = square(cell(proof(10, 10)), [*base, *cand], BASE, CAND)
    odd = [
        Outcome(1, 13, arm, "ok", ttlb_s, "CPU steal: much", 1000, ttlb_s, 0.1, 0.2)
        for arm, ttlb_s in ((BASE, 1.0), (CAND, 50.0))
    ]
    found = square(cell(proof(10, 10)), [*base, *cand, *odd], BASE, CAND)
    assert (found.p_value, found.spread_p, found.phases) == (plain.p_value, plain.spread_p, plain.phases)
    assert found.candidate.percentiles == plain.candidate.percentiles


def test_q_values_are_corrected_over_the_cells_that_are_proven() -> None:
    squares = [
        square(cell(proof(10, achieved_ms)), [*drawn(seed), *drawn(seed + 50, 12, slower, CAND)], BASE, CAND)
        for seed, achieved_ms, slower in ((1, 10, 1.0), (2, 10, 1.5), (3, 20, 4.0), (4, 10, 1.2))
    ]
    squares.append(square(cell(None), [], BASE, CAND))
    found = corrected(squares)
    p_values = [item.p_value for item in squares]
    expected = benjamini_hochberg([p_values[0], p_values[1], p_values[3]])
    assert [item.q_value for item in found] == [expected[0], expected[1], None, expected[2], None]
    assert found[2].p_value is not None, "an unproven cell shows its numbers"


def test_an_arm_that_times_out_keeps_its_tail_open_and_its_failure_rate_tells() -> None:
    base, cand = drawn(1, 40), drawn(2, 36, client=CAND)
    lost = [Outcome(1, n, CAND, "timeout", None, elapsed_s=60.0) for n in range(37, 41)]
    found = square(cell(proof(10, 10)), [*base, *cand, *lost], BASE, CAND)
    p50, p90, p99 = found.candidate.percentiles
    assert (p50.n, found.candidate.timed_out, found.candidate.failure_rate) == (40, 4, 0.1)
    assert p50.value == pytest.approx(percentiles(ttlb(cand))[0].value, rel=0.05)
    assert p90.value is None
    assert p99.value is None
    assert found.baseline.percentiles[2].value is not None
    assert found.p_value is not None


def test_an_arm_that_stalls_now_and_then_varies_more_even_if_stalls_are_time_outs() -> None:
    base, cand = drawn(1, 40), drawn(1, 24, client=CAND)
    assert square(cell(proof(10, 10)), [*base, *cand], BASE, CAND).spread_p == pytest.approx(1, abs=0.1)
    lost = [Outcome(1, n, CAND, "timeout", None, elapsed_s=60.0) for n in range(25, 41)]
    assert (square(cell(proof(10, 10)), [*base, *cand, *lost], BASE, CAND).spread_p or 1) < 0.01


def test_where_no_phases_are_reported_none_are_made_up() -> None:
    outcomes = [ok(n, client, 1.0) for n in range(1, 9) for client in (BASE, CAND)]
    found = square(cell(proof(10, 10)), outcomes, BASE, CAND)
    assert found.phases is None
    assert found.baseline.failure_rate == 0
    assert square(cell(None), [], BASE, CAND).baseline.failure_rate is None


class Stored:
    """A campaign of one cell with three clients and an A/A arm."""

    clients = ("a-h2", "a-h3", "b-h3", "c-firefox-h3", "a-h2@aa")

    def __init__(self) -> None:
        slower = dict(zip(self.clients, (1.0, 2.0, 1.5, 0.1, 0.1), strict=True))
        self.trials = [o for n, (client, by) in enumerate(slower.items()) for o in drawn(n, 10, by, client)]
        self.trials.append(Outcome(1, 11, "b-h3", "ok", 0.001, "CPU steal: much"))

    def get(self, ident: str) -> CampaignRecord:
        spec = CampaignSpec("c", ("e",), ("baseline",), self.clients, 10, 1)
        progress = Progress(1, 1, 55, 55, 0, 1.0, 0)
        return CampaignRecord(ident, spec, CampaignState.DONE, datetime.now(UTC), None, None, progress)

    def cells(self, _ident: str) -> list[CellRecord]:
        return [cell(proof(10, 10))]

    def arms(self, _ident: str) -> list[Client]:
        return [
            Client(name, name[0], Protocol.H3 if "h3" in name else Protocol.H2, name, ("{url}",), "curl-json")
            for name in self.clients
        ]

    def outcomes(self, _ident: str, clients: Sequence[str], _cells: Sequence[int] | None = None) -> list[Outcome]:
        return [o for o in reversed(self.trials) if o.client_id in clients]

    def samples(self, *clients: str) -> dict[str, list[float]]:
        return {
            name: ttlb([o for o in self.trials if o.client_id == name and not o.unproven_reason]) for name in clients
        }


@pytest.mark.parametrize(("mode", "function"), [("yu2020", papermodes.yu2020), ("yu2021", papermodes.yu2021)])
def test_the_papers_squares_take_all_clients_but_no_copy_of_one(
    mode: papermodes.Mode, function: Callable[..., papermodes.PaperCell]
) -> None:
    stored = Stored()
    heatmap = Heatmaps(cast("CampaignStore", stored), cast("ResultStore", stored)).of("c", mode=mode)
    (item,) = heatmap.providers[0].cells
    assert item.paper == function(stored.samples("a-h2"), stored.samples("a-h3", "b-h3"))
    assert item.paper.h3_client == "b-h3"
    assert (heatmap.baseline, heatmap.candidate) == ("a-h2", "a-h3")
    assert "best of 1 H2" in (heatmap.mode_note or "")
    assert "biased" in (heatmap.mode_note or "")


def test_our_own_mode_has_no_paper_square() -> None:
    stored = Stored()
    heatmap = Heatmaps(cast("CampaignStore", stored), cast("ResultStore", stored)).of("c")
    assert heatmap.providers[0].cells[0].paper is None
    assert heatmap.mode_note is None


@pytest.mark.parametrize("mode", ["yu2020", "yu2021"])
def test_h3_clients_are_compared_with_the_best_of_them(mode: papermodes.Mode) -> None:
    stored = Stored()
    found = ClientsComparisons(cast("CampaignStore", stored), cast("ResultStore", stored)).of("c", mode)
    (item,) = found.providers[0].cells
    expected = papermodes.client_comparison(stored.samples("a-h3", "b-h3"), mode)
    assert [(c.client, c.value_pct, c.shown_pct, c.p_value) for c in item.clients] == [
        (c.client, c.value_pct, c.shown_pct, c.p_value) for c in expected.clients
    ]
    assert item.best == "b-h3"
    assert {c.client: c.n for c in item.clients} == {"a-h3": 10, "b-h3": 10}
    assert "best" in found.mode_note


@pytest.mark.parametrize("mode", ["yu2020", "yu2021", "lastbyte"])
def test_each_h3_client_has_the_interval_of_its_paired_difference_to_the_best(mode: HeatmapMode) -> None:
    stored = Stored()
    found = ClientsComparisons(cast("CampaignStore", stored), cast("ResultStore", stored)).of("c", mode)
    (item,) = found.providers[0].cells
    other, best = item.clients
    assert (other.client, best.client, best.paired) == ("a-h3", item.best, None)
    rounds = {name: counted_times(stored.trials, name) for name in ("a-h3", "b-h3")}
    assert other.paired == compare(*paired_rounds(rounds["b-h3"], rounds["a-h3"]))
    assert other.paired.n > 5
    if mode == "lastbyte":
        assert (other.value_pct, best.value_pct, best.p_value) == (other.paired.diff_pct, 0, None)
        assert other.p_value is not None
        assert "round by round" in found.mode_note

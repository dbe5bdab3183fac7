from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.answer import brief, lines, rests_on, summary
from dashboard.export import heatmap_csv, trials_csv
from dashboard.formatting import amount, duration, exact_time, ms, plural, signed_pct, size_label, when
from dashboard.words import FEW_ROUNDS, drawn_pct, explanation, kind_of
from lastbyte.stats.paired import MIN_ROUNDS_FOR_VERDICT
from tests.unit.dashboard.samples import arm, cell, heatmap, trial

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_times_are_in_the_viewers_zone() -> None:
    assert when("2026-11-20T10:00:00Z", "Europe/Berlin", NOON) == "today 11:00"
    assert when("2026-11-19T23:30:00Z", "Europe/Berlin", NOON) == "today 00:30"
    assert when("2026-11-18T10:00:00Z", "America/New_York", NOON) == "18 Nov 05:00"
    assert when("2025-11-18T10:00:00Z", "UTC", NOON) == "18 Nov 2025 10:00"
    assert exact_time("2026-11-20T10:00:00Z", "Europe/Berlin") == "2026-11-20 11:00:00 CET"


def test_an_unknown_zone_is_utc() -> None:
    assert when("2026-11-20T10:00:00Z", "Mars/Olympus", NOON) == "today 10:00"
    assert when("2026-11-20T10:00:00Z", "../etc/passwd", NOON) == "today 10:00"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (45, "45 s"), (600, "10 min"), (7200, "2 h"), (12000, "3 h 20 min"), (4e5, "5 days")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds).replace("\u00a0", " ") == text


def test_numbers() -> None:
    plain = [
        text.replace("\u00a0", " ") for text in (signed_pct(-3.21), ms(99.94), ms(1234.5), amount(1.5e9), ms(None))
    ]
    assert plain == ["\u22123.2 %", "99.9 ms", "1,234 ms", "1.5 GB", "\u2013"]
    assert size_label("100KB") == "100\u00a0KB"
    assert size_label("large") == "large"
    assert plural(1, "cell") == "1\u00a0cell"


def test_the_summary_answers_the_question() -> None:
    cells = [
        cell(diff=5.0),
        cell(diff=-5.0),
        cell(verdict="inconclusive"),
        cell(candidate=arm(0, None, tls=3), diff_pct=None, n=0),
        cell(diff=None, state="pending"),
    ]
    text = summary(cells).replace("\u00a0", " ")
    assert text == "Of 4 cells: H3 slower in 1, faster in 1, inconclusive in 1, failing in 1. 1 cell still to come."
    assert summary([cell(diff=None, state="pending")]) == "No cell has a result yet."


def test_a_cell_under_way_is_not_called_failing() -> None:
    assert kind_of(cell(candidate=arm(0, None, tls=1), diff=None, state="running")) == "measuring"


def test_csv_has_full_precision_and_units_in_names() -> None:
    header, line = heatmap_csv(heatmap(cell(diff=12.345678))).splitlines()
    values = dict(zip(header.split(","), line.split(","), strict=True))
    assert values["diff_pct"] == "12.345678"
    assert values["baseline_client"] == "curl-quiche-h2"
    assert values["candidate_median_ttlb_ms"] == "112.0"
    assert values["rtt_achieved_ms"] == "10.21"


def test_csv_holds_no_formulas() -> None:
    text = trials_csv([trial(1, "curl-quiche-h3", None, failure_detail="=HYPERLINK(1)")])
    assert "'=HYPERLINK(1)" in text


def test_too_few_rounds_are_named_as_the_reason() -> None:
    assert FEW_ROUNDS == MIN_ROUNDS_FOR_VERDICT
    assert "Fewer than 6" in explanation(cell(verdict="inconclusive", n=3), "inconclusive")
    assert "holds zero" in explanation(cell(verdict="inconclusive"), "inconclusive")


def test_a_difference_no_larger_than_the_noise_is_named_so() -> None:
    assert kind_of(cell(below_floor=True)) == "below floor"
    assert kind_of(cell(below_floor=True, verdict="inconclusive")) == "inconclusive"


def test_time_outs_that_leave_a_bound_are_drawn_with_it() -> None:
    bounded = cell(diff_pct=None, at_least_pct=250.0, at_most_pct=None, verdict="h2 faster")
    assert drawn_pct(bounded) == 250.0
    assert kind_of(bounded) == "h2 faster"


def test_a_square_in_words_has_place_value_and_interval() -> None:
    found = cell("loss-1", "1MB", diff=48.0, loss_pct=1.0)
    assert brief(found).replace("\u00a0", " ") == "1 % loss, 1 MB: +48.0 % (+46.0 … +50.0)"
    bounded = cell(diff_pct=None, at_least_pct=250.0, at_most_pct=None, verdict="h2 faster", ci_low_pct=None)
    assert brief(bounded).replace("\u00a0", " ") == "no loss or delay added, 100 KB: ≥ +250 %"


def test_what_it_rests_on_counts_trials_of_both_clients_and_those_left_out() -> None:
    text = rests_on([cell(), cell(n=6, left_out=2, candidate=arm(6, 112.0, timeout=1))]).replace("\u00a0", " ")
    assert text == "Rests on 37 trials, 6 to 10 paired rounds per square. 2 trials out of tolerance left out."


def test_the_answer_per_provider_is_sorted_by_size_of_effect() -> None:
    (line,) = lines(
        [("a", cell(diff=5.0)), ("a", cell(diff=48.0)), ("a", cell(diff=-3.5)), ("a", cell(verdict="unproven"))]
    )
    assert [c["diff_pct"] for c in line.slower] == [48.0, 5.0]
    assert [c["diff_pct"] for c in line.faster] == [-3.5]
    assert (line.unclear, line.judged, line.trials) == (1, 4, 80)

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.export import heatmap_csv, trials_csv
from dashboard.formatting import amount, duration, exact_time, ms, plural, signed_pct, size_label, when
from dashboard.words import FEW_ROUNDS, explanation, kind_of, summary
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

"""docs/method.md names a test for each rule; each test it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from lastbyte.domain.courtesy import CourtesyBudget
from lastbyte.domain.tolerance import DEFAULT

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "method.md").read_text()
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", TEXT)


def test_every_test_that_is_named_exists() -> None:
    missing = [
        f"{file}::{name}"
        for file, name in NAMED
        if not (ROOT / "tests" / file).is_file() or f"def {name}(" not in (ROOT / "tests" / file).read_text()
    ]
    assert missing == []


def test_every_rule_has_a_row_with_a_test_or_says_that_it_does_not_hold() -> None:
    rows = {int(row[1]): row[0] for row in re.finditer(r"^\| (\d+) \|.*$", TEXT, re.MULTILINE)}
    assert sorted(rows) == list(range(1, 23))
    assert [number for number, row in rows.items() if "::" not in row and "does not hold yet" not in row] == []


def test_the_limits_are_those_of_the_code() -> None:
    budget = CourtesyBudget()
    assert f"{budget.requests_per_day:,} fetches and {budget.bytes_per_day / 1e9:g} GB" in TEXT
    assert f"{budget.min_gap_s:g} s between" in TEXT
    for words in (
        f"| {DEFAULT.rtt_ms:g} ms or {DEFAULT.rtt_share:.0%}".replace("%", " %"),
        f"| {DEFAULT.probes_lost} beyond the requested loss",
        f"| {DEFAULT.gate_mean_ms:g} ms or {DEFAULT.gate_mean_share:.0%}; {DEFAULT.gate_deviation_ms:g} ms".replace(
            "%", " %"
        ),
        f"{sum(DEFAULT.gate_waits_s):g} s in all",
        f"| {DEFAULT.steal_share:.0%}, and {DEFAULT.steal_least_s * 1000:g} ms".replace("%", " %"),
        f"| {DEFAULT.rcvbuf_errors_share * 100:g} % of the packets",
        f"from {DEFAULT.box_least_s:g} s on | {DEFAULT.box_cpu_share:.0%} of one".replace("%", " %"),
    ):
        assert words in TEXT, words

"""Cron expressions on the clocks of time zones, above all where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.domain.errors import InvalidInput
from lastbyte.services import cron

BERLIN = "Europe/Berlin"


def times(expression: str, after: str, count: int = 3, zone: str = BERLIN, fold: int = 0) -> list[str]:
    start = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return [moment.isoformat(timespec="minutes") for moment in cron.next_times(expression, zone, start, count)]


def test_a_fixed_time_in_the_skipped_hour_starts_once_right_after_it() -> None:
    # 2026-03-29 in Berlin: 02:00 becomes 03:00
    assert times("30 2 * * *", "2026-03-28T12:00") == [
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:30+02:00",
        "2026-03-31T02:30+02:00",
    ]
    assert times("15,30,45 2 * * *", "2026-03-28T12:00", 2) == ["2026-03-29T03:00+02:00", "2026-03-30T02:15+02:00"]


def test_a_fixed_time_in_the_doubled_hour_starts_the_first_time_only() -> None:
    # 2026-10-25 in Berlin: 03:00 becomes 02:00
    assert times("30 2 * * *", "2026-10-24T12:00", 2) == ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]
    for asked_at in ("2026-10-25T02:10", "2026-10-25T02:40"):  # in the second pass of that hour
        assert times("30 2 * * *", asked_at, 1, fold=1) == ["2026-10-26T02:30+01:00"]


def test_a_starred_time_follows_elapsed_time() -> None:
    assert times("*/30 2 * * *", "2026-03-28T12:00", 2) == ["2026-03-30T02:00+02:00", "2026-03-30T02:30+02:00"]
    assert times("*/30 * * * *", "2026-10-25T01:45", 5) == [
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:30+02:00",
        "2026-10-25T02:00+01:00",
        "2026-10-25T02:30+01:00",
        "2026-10-25T03:00+01:00",
    ]


def test_half_an_hour_of_change_and_the_south() -> None:
    # Lord Howe Island sets its clocks by 30 minutes, on 2026-10-04 from 02:00 to 02:30
    assert times("15 2 * * *", "2026-10-03T12:00", 1, "Australia/Lord_Howe") == ["2026-10-04T02:30+11:00"]


@pytest.mark.parametrize(
    ("expression", "after", "said"),
    [
        ("30 2 * * *", "2026-03-01", "On 2026-03-29 clocks skip 02:00 to 03:00: 02:30 starts at 03:00 instead, once."),
        ("*/30 2 * * *", "2026-03-01", "On 2026-03-29 clocks skip 02:00 to 03:00: 02:00, 02:30 are left out."),
        ("30 2 * * *", "2026-06-01", "On 2026-10-25 02:00 to 03:00 comes twice: 02:30 starts the first time only."),
        ("0 * * * *", "2026-06-01", "On 2026-10-25 02:00 to 03:00 comes twice: 02:00 starts both times."),
    ],
)
def test_people_are_told_what_the_next_change_does(expression: str, after: str, said: str) -> None:
    notes = cron.clock_notes(expression, BERLIN, datetime.fromisoformat(after).replace(tzinfo=UTC))
    assert notes[0] == said


def test_nothing_is_said_where_no_change_matters() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert cron.clock_notes("15 4 * * *", BERLIN, now) == []
    assert cron.clock_notes("30 2 * * *", "UTC", now) == []


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("15 3 * * *", "At 03:15 every day"),
        ("0 3 * * MON-FRI", "At 03:00 on Monday through Friday"),
        ("0 0 1 * FRI", "At 00:00 on the first day of month and on Friday (a day that is either of the two counts)"),
        ("0 3 */2 * 1", "At 03:00 on every second day of month if it's on Monday"),
    ],
)
def test_words(expression: str, said: str) -> None:
    assert cron.words(expression) == said


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("15 3 * *", "has 4 fields, not 5"),
        ("0 15 3 * * *", "has 6 fields, not 5"),
        ("61 3 * * *", "the field minute can't be read"),
        ("0 24 * * *", "the field hour can't be read"),
        ("0 3 * * FUNDAY", "the field day-of-week can't be read"),
        ("0 0 30 2 *", "the field day-of-month can't be read"),
        ("@daily", "has 1 fields, not 5"),
    ],
)
def test_what_is_no_expression_says_which_field(expression: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        cron.check(expression, "UTC")
    assert caught.value.field == "cron"
    assert "15 3 * * *" in caught.value.remedy


def test_an_unknown_zone_names_the_like() -> None:
    with pytest.raises(InvalidInput, match=r"Did you mean Europe/Berlin\?") as caught:
        cron.check("15 3 * * *", "berlin")
    assert caught.value.field == "time_zone"
    for name in ("America", "../etc/passwd", "/usr/share/zoneinfo/UTC", "\x00"):
        with pytest.raises(InvalidInput):
            cron.check("15 3 * * *", name)


FIELD = st.text(alphabet="0123456789*/,-#LWMONFRIJANDEC", min_size=1, max_size=8)


@given(expression=st.lists(FIELD, min_size=5, max_size=5).map(" ".join), zone=st.sampled_from(["UTC", BERLIN]))
def test_any_text_is_refused_by_name_or_gives_rising_times_and_words(expression: str, zone: str) -> None:
    after = datetime(2026, 3, 1, tzinfo=UTC)
    try:
        found = cron.next_times(expression, zone, after, 3)
    except InvalidInput as exc:
        refused = exc.field
        assert refused == "cron"
        return
    assert found == sorted(found)
    assert found[0] > after
    assert cron.words(expression)
    cron.clock_notes(expression, zone, after)


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    day=st.integers(0, 1000),
    zone=st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe"]),
)
def test_a_daily_time_comes_once_each_day_whatever_the_clocks_do(minute: int, hour: int, day: int, zone: str) -> None:
    start = datetime(2025, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)
    found = cron.next_times(f"{minute} {hour} * * *", zone, start, 10)
    dates = [moment.date() for moment in found]
    assert dates == [dates[0] + timedelta(days=index) for index in range(10)]


def test_debian_rules_are_the_librarys() -> None:
    # the two facts that the documentation of this module rests on
    with pytest.raises(CronSimError):
        CronSim("0 0 30 2 *", datetime(2026, 1, 1, tzinfo=UTC))
    assert CronSim("0 0 1 * FRI", datetime(2026, 1, 1, tzinfo=UTC)).day_and is False

"""Trends, crossovers and comparisons: the values, colours and words that are drawn."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.callbacks.notes import moment
from dashboard.callbacks.schedules import repeatable, request_body
from dashboard.figures.compare import compare_figure, ordered
from dashboard.figures.crossover import crossover_figure, said, segments
from dashboard.figures.palette import LIGHT
from dashboard.figures.trends import trend_figure
from dashboard.pages.compare import body as compare_body
from dashboard.pages.compare import compare_csv, like
from dashboard.pages.crossover import body as crossover_body
from dashboard.pages.place import Place
from dashboard.pages.trends import changes_list, notes_of
from tests.unit.dashboard.samples import campaign

PLACE = Place("/", {}, "UTC", "light")


def point(day: int, value: float) -> dict[str, Any]:
    return {
        "campaign_id": f"c{day}", "campaign_name": f"night {day}", "cell_id": day, "at": f"2026-11-{day:02}T02:00:00Z",
        "n": 10, "value": value, "ci_low": value - 1, "ci_high": value + 1,
    }  # fmt: skip


def series(**other: Any) -> dict[str, Any]:
    change = {
        "at": "2026-11-12T02:00:00Z", "campaign_id": "c12", "shift_pct": 30.0, "ci_low_pct": 25.0, "ci_high_pct": 35.0,
        "confidence": 0.95,
    }  # fmt: skip
    return {
        "endpoint": "e", "profile": "p", "vantage": "local", "client": "curl-quiche-h3", "baseline": "curl-quiche-h2",
        "unit": "%", "points": [point(10, 1.0), point(11, 2.0), point(12, 32.0)], "changes": [change], "unproven": 0,
        **other,
    }  # fmt: skip


NOTE = {"id": 1, "at": "2026-11-12T00:00:00Z", "text": "server <b>updated</b>", "endpoint": None}


def test_a_trend_is_on_the_viewers_clock_with_band_change_and_note() -> None:
    figure = trend_figure([series()], [NOTE], zone="Europe/Berlin")
    band, line, change = figure.data
    assert line.x[0] == "2026-11-10T03:00:00"
    assert list(line.y) == [1.0, 2.0, 32.0]
    assert list(band.y) == [2.0, 3.0, 33.0, 31.0, 1.0, 0.0]
    assert line.line.color == LIGHT.h3
    assert list(line.customdata) == ["/campaigns/c10/cells/10", "/campaigns/c11/cells/11", "/campaigns/c12/cells/12"]
    assert (list(change.y), change.marker.symbol) == ([32.0], "diamond-open")
    assert change.text[0] == "+30.0\u00a0%"
    assert "<b>" not in figure.layout.annotations[0].text
    assert figure.layout.yaxis.title.text == "H3 against H2 (%)"


def test_changes_name_the_campaigns_before_and_after() -> None:
    text = str(changes_list([series()], Place("/trends", {}, "UTC", "light")))
    assert "/campaigns/c11" in text
    assert "/campaigns/c12" in text


def test_a_short_series_says_why_no_change_is_named() -> None:
    short = series(points=series()["points"][:2], changes=[])
    assert "from 10 points on; the longest series here has 2" in str(
        changes_list([short], Place("/", {}, "UTC", "light"))
    )


def test_notes_of_one_endpoint_stay_with_it() -> None:
    assert notes_of([NOTE, {**NOTE, "endpoint": "x"}], "e") == [NOTE]


def test_a_note_is_taken_at_the_viewers_clock() -> None:
    assert moment("2026-11-21 03:15:00", "Europe/Berlin") == "2026-11-21T03:15:00+01:00"


def line(**other: Any) -> dict[str, Any]:
    return {
        "provider": "testbed-caddy", "vantage": "local", "base_rtt_ms": 10.0, "loss_pct": None, "delay_ms": 50.0,
        "rate_mbit_s": 10.0, "size_label": "1MB", "xs": [0.0, 0.1, 1.0], "kind": "found", "x": 0.4, "ci_low": 0.2,
        "ci_high": 0.7, "h3_faster_below": False, "agreement": 0.97, "places": 3, **other,
    }  # fmt: skip


def test_a_crossover_changes_colour_and_dash_where_they_cross() -> None:
    assert segments(line()) == [("H3 slower", 0.0, 0.4), ("H3 faster", 0.4, 1.0)]
    figure = crossover_figure([line(), line(kind="too uncertain", x=None)], "loss")
    tracks = {t.name: t for t in figure.data}
    assert list(tracks["H3 slower"].x) == [0.0, 0.4, None]
    assert (tracks["H3 slower"].line.color, tracks["H3 slower"].line.dash) == (LIGHT.h2, "10px,3px")
    assert list(tracks["can't be said"].x) == [0.0, 1.0, None]
    assert list(tracks["crossover"].error_x.array) == [pytest.approx(0.3)]
    assert figure.layout.xaxis.title.text == "Extra loss (%)"


def test_a_crossover_in_words() -> None:
    text = said(line(), "loss").replace("\u00a0", " ")
    assert text == "1 MB, 50 ms delay, 10 Mbit/s: H3 is slower below 0.4 % (95 % interval 0.2 % to 0.7 %)"
    assert "too uncertain to say" in said(line(kind="too uncertain"), "loss")


def item(verdict: str, diff: float | None, **other: Any) -> dict[str, Any]:
    side = {"n": 10, "failures": 0, "timed_out": 0, "median_ttlb_ms": 100.0}
    return {
        "endpoint": "e", "profile": "p", "client": f"c{diff}", "verdict": verdict, "reason": "why", "diff_pct": diff,
        "ci_low_pct": None if diff is None else diff - 2, "ci_high_pct": None if diff is None else diff + 3,
        "p_slower": 0.01, "p_failures": None, "baseline": side, "candidate": side, **other,
    }  # fmt: skip


def test_failing_items_come_first_and_differ_without_colour() -> None:
    items = [item("pass", 1.0), item("fail", 12.0), item("fail", 30.0), item("inconclusive", None)]
    assert compare_figure(items, 5.0).layout.yaxis.ticktext[0] == "e<br>p, c30.0"
    assert [i["diff_pct"] for i in ordered(items)] == [30.0, 12.0, None, 1.0]
    figure = compare_figure(items, 5.0)
    fail, unclear, good = figure.data
    assert (list(fail.x), list(fail.y), fail.marker.symbol) == ([30.0, 12.0], [0, 1], "x")
    assert not unclear.x
    assert good.marker.color != fail.marker.color
    assert list(fail.error_x.arrayminus) == [2.0, 2.0]
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (-5.0, 5.0)
    low, high = figure.layout.xaxis.autorangeoptions.include
    assert -low == high > 33.0, "symmetric about zero, with the farthest end of an interval inside"


def test_the_campaign_to_compare_with_shares_most_cells() -> None:
    listed = [campaign(id="new"), campaign(id="other", profiles=["loss-1"]), campaign(id="same")]
    assert like(listed, "new") == "same"
    elsewhere = [campaign(id="new"), campaign(id="elsewhere", vantage="far"), campaign(id="here")]
    assert like(elsewhere, "new") == "here"


def test_a_comparison_of_which_nothing_can_be_drawn_says_so() -> None:
    sides = {"baseline": {"id": "b", "name": "before"}, "candidate": {"id": "c", "name": "after"}}
    rest = {"counts": {}, "verdict": "inconclusive", "tolerance_pct": 5.0, "note": ""}
    found = {"items": [item("inconclusive", None)], **sides, **rest}
    assert "No difference can be drawn" in str(compare_body(found, PLACE))
    drawn = str(compare_body({**found, "items": [item("pass", 1.0)]}, PLACE))
    assert "No difference can be drawn" not in drawn
    assert "Worst first" in drawn


def test_lines_of_several_vantages_stand_in_figures_of_their_own() -> None:
    found = {"candidate": "h3", "baseline": "h2", "lines": [line(), line(vantage="far")]}
    text = str(crossover_body(found, "loss", PLACE))
    assert "base RTT 10 ms, vantage local" in text
    assert "base RTT 10 ms, vantage far" in text
    assert "vantage" not in str(crossover_body({**found, "lines": [line()]}, "loss", PLACE))


def test_the_comparison_as_csv() -> None:
    header, row = compare_csv({"items": [item("fail", 12.0)]}).splitlines()
    values = dict(zip(header.split(","), row.split(","), strict=True))
    assert (values["verdict"], values["diff_pct"], values["candidate_median_ttlb_ms"]) == ("fail", "12.0", "100.0")


def test_a_schedule_repeats_a_campaign_with_a_seed_of_its_own() -> None:
    assert repeatable({"name": "loss", "seed": 7, "endpoints": ["e"]}) == {"endpoints": ["e"]}


def test_the_form_of_a_schedule_changes_what_it_shows_and_keeps_the_rest() -> None:
    form = {"name": " nightly ", "cron": "15 3 * * *", "time_zone": "UTC", "missed": "skip", "overlap": "queue"}
    form |= {"endpoints": [], "profiles": ["loss-1"], "clients": ["c"], "rounds": 20}
    body = request_body(form, {"name": "loss", "seed": 7, "endpoints": ["e"], "rounds": 5, "max_rounds": None})
    # an emptied field is sent as it is, so that the API can say what is missing
    assert body["template"] == {
        "name": "loss", "seed": 7, "endpoints": [], "profiles": ["loss-1"], "clients": ["c"], "rounds": 20,
    }  # fmt: skip
    assert (body["name"], body["cron"], body["overlap"]) == ("nightly", "15 3 * * *", "queue")

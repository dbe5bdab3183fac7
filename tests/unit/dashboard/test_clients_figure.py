"""Client comparison: numbers, whiskers and words of the squares."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.figures.clients import REACH, WHISKER_Y, Grid, clients_figure, grids
from dashboard.pages.clients import clients_csv, rests_on

LIMIT = 20.0


def client(name: str, value: float | None, low: float | None, high: float | None, **other: Any) -> dict[str, Any]:
    return {
        "client": name, "n": 10, "value_pct": value, "shown_pct": value, "p_value": 0.002, "paired_n": 10,
        "paired_pct": value, "ci_low_pct": low, "ci_high_pct": high, "confidence": 0.95, **other,
    }  # fmt: skip


BEST = client("a-h3", 0.0, None, None, p_value=None, paired_n=None, paired_pct=None, confidence=None)


def comparison(*others: dict[str, Any]) -> dict[str, Any]:
    cell = {
        "endpoint": "e", "size_label": "1MB", "profile": "loss-1", "loss_pct": 1.0, "extra_rtt_ms": 0.0,
        "rate_mbit_s": 10.0, "best": "a-h3", "unproven_reason": None, "clients": [BEST, *others],
    }  # fmt: skip
    names = [c["client"] for c in (BEST, *others)]
    return {"clients": names, "providers": [{"provider": "testbed-caddy", "cells": [cell]}]}


def grid(*others: dict[str, Any]) -> Grid:
    (found,) = grids(comparison(*others))
    return found


def trace(figure: Any, name: str) -> Any:
    return next(t for t in figure.data if t.name == name)


def test_the_whisker_is_the_interval_on_the_scale_of_the_square() -> None:
    figure = clients_figure(grid(client("b-h3", 5.0, -10.0, 15.0)), LIMIT)
    bar = trace(figure, "intervals")
    assert list(bar.x)[:2] == pytest.approx([-REACH / 2, 0.75 * REACH])
    assert list(bar.y)[:2] == pytest.approx([1 + WHISKER_Y] * 2)
    assert list(trace(figure, "zero").x)[:2] == [0, 0]
    assert list(trace(figure, "medians").x) == pytest.approx([REACH / 4])
    assert len(bar.x) == 3, "the best has no interval against itself"


def test_what_goes_beyond_the_scale_is_cut_and_says_so() -> None:
    figure = clients_figure(grid(client("b-h3", 33.0, 12.0, None)), LIMIT)
    marks = trace(figure, "medians")
    assert (list(marks.x), list(marks.marker.symbol)) == ([REACH], ["triangle-right"])
    assert "from +12.0" in trace(figure, "over the best").hovertext[1][0].replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (client("b-h3", 5.0, 1.0, 9.0), "+5.0 %"),
        (client("b-h3", 5.0, -1.0, 9.0), "+5.0 % ?"),
        (client("b-h3", 5.0, 1.0, 9.0, paired_n=5), "+5.0 % ?"),
        (client("b-h3", 5.0, 1.0, 9.0, shown_pct=0.0), "+5.0 % ?"),
        (client("b-h3", None, None, None), "\u2013 ?"),
    ],
)
def test_a_difference_that_is_not_established_is_marked(other: dict[str, Any], text: str) -> None:
    best, number = trace(clients_figure(grid(other), LIMIT), "numbers").text
    assert (best, number.replace("\u00a0", " ")) == ("<b>best</b>", text)


def test_the_hover_has_interval_pairs_and_p() -> None:
    hover = trace(clients_figure(grid(client("b-h3", 5.0, 1.0, 9.0)), LIMIT), "over the best").hovertext[1][0]
    text = hover.replace("\u00a0", " ")
    assert "Round by round: +5.0 % (95 % interval +1.0 … +9.0 %, 10 pairs)" in text
    assert "p = 0.002" in text


def test_the_csv_has_the_interval() -> None:
    header, _, row = clients_csv(comparison(client("b-h3", 5.0, 1.0, 9.0))).splitlines()
    values = dict(zip(header.split(","), row.split(","), strict=True))
    assert (values["client"], values["paired_n"], values["ci_low_pct"], values["ci_high_pct"]) == (
        "b-h3", "10", "1.0", "9.0",
    )  # fmt: skip


def test_stand_ins_keep_their_name_and_the_card_says_on_how_many_trials_it_rests() -> None:
    found = grid(client("b-h3", 5.0, -10.0, 15.0))
    assert list(clients_figure(found, LIMIT).layout.xaxis.ticktext) == ["1\u00a0MB<br>testbed-<br>caddy"]
    assert rests_on(found) == "n = 10 trials of each client per square."

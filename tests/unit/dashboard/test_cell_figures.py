"""The figures of a cell's page: the values and colours that they draw."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard import linkproof
from dashboard.figures.clients import clients_figure, grids
from dashboard.figures.failures import failures_figure
from dashboard.figures.palette import LIGHT, contrast
from dashboard.figures.phases import explains_figure, explanation, stacked_figure
from dashboard.figures.spread import box_figure, counted, ecdf_figure, order_effect_pct, order_figure
from tests.unit.dashboard.samples import cell, trial

H2, H3 = "curl-quiche-h2", "curl-quiche-h3"


def phase(name: str, diff: float, low: float, high: float) -> dict[str, Any]:
    return {
        "phase": name, "baseline_ms": 50.0, "candidate_ms": 50.0 + diff, "diff_ms": diff, "ci_low_ms": low,
        "ci_high_ms": high, "diff_pct": diff, "of_total_pct": 100 * diff / 40,
    }  # fmt: skip


PHASES = {
    "n": 10,
    "confidence": 0.95,
    "total": phase("total", 40.0, 30.0, 50.0),
    "phases": [
        phase("handshake", -10.0, -12.0, -8.0),
        phase("wait", 1.0, -1.0, 3.0),
        phase("transfer", 50.0, 40.0, 60.0),
    ],
    "residual_ms": -1.0,
    "explains": "transfer",
}  # fmt: skip


def test_counted_leaves_out_warm_up_failures_and_what_is_out_of_tolerance() -> None:
    trials = [trial(0, H2), trial(1, H2), trial(2, H2, None), trial(3, H2, unproven_reason="steal: x"), trial(1, H3)]
    assert [t["round"] for t in counted(trials, H2)] == [1]


def test_the_ecdf_ends_at_one_hundred_percent() -> None:
    trials = [trial(i, H2, 100.0 + i) for i in range(1, 5)]
    (h2, h3) = ecdf_figure(trials, H2, H3).data
    assert list(h2.x) == [101.0, 101.0, 102.0, 103.0, 104.0]
    assert list(h2.y) == [0, 25.0, 50.0, 75.0, 100.0]
    assert not h3.x
    assert (h2.line.color, h3.line.color) == (LIGHT.h2, LIGHT.h3)
    assert h2.line.dash != h3.line.dash  # apart without colour too


def test_boxes_show_every_counted_trial() -> None:
    figure = box_figure([trial(1, H2, 100.0), trial(2, H2, 120.0), trial(1, H3, 90.0)], H2, H3)
    assert list(figure.data[0].x) == [100.0, 120.0]
    assert figure.data[0].boxpoints == "all"
    assert figure.layout.xaxis.title.text == "TTLB (ms)"


def test_order_compares_each_client_with_itself() -> None:
    trials = [trial(1, H2, 100.0, position=0), trial(2, H2, 110.0, position=1), trial(3, H2, 105.0, position=0)]
    trials += [trial(1, H3, 50.0, position=1), trial(2, H3, 50.0, position=0)]
    figure = order_figure(trials, H2, H3)
    assert list(figure.data[0].y) == pytest.approx([-4.762, 4.762, 0.0], abs=0.01)
    assert order_effect_pct(trials, H2, H3) == pytest.approx(2.38, abs=0.01)
    assert order_effect_pct([trial(1, H2)], H2, H3) is None


def test_phases_are_stacked_and_differ_without_colour() -> None:
    figure = stacked_figure(PHASES)
    assert [list(t.x) for t in figure.data] == [[50.0, 40.0], [50.0, 51.0], [50.0, 100.0]]
    assert figure.layout.barmode == "stack"
    assert len({t.marker.pattern.shape for t in figure.data}) == 3
    assert "(ms)" in figure.layout.xaxis.title.text


def test_what_explains_the_difference_is_coloured_by_certainty() -> None:
    (points,) = explains_figure(PHASES).data
    assert list(points.x) == [-10.0, 1.0, 50.0, 40.0]
    assert list(points.marker.color) == [LIGHT.h3, LIGHT.muted, LIGHT.h2, LIGHT.h2]
    assert list(points.error_x.arrayminus)[2] == 10.0
    assert "the transfer explains 50.0\u00a0ms (125 % of it)" in explanation(PHASES)
    assert "No single phase" in explanation({**PHASES, "explains": None})


def test_failures_are_counted_by_client_and_kind() -> None:
    figure = failures_figure([trial(1, H2, None), trial(2, H2, None), trial(1, H3, None, outcome="tls"), trial(2, H3)])
    assert {t.name: dict(zip(t.y, t.x, strict=True)) for t in figure.data} == {
        H2: {"timeout": 2, "tls": 0},
        H3: {"timeout": 0, "tls": 1},
    }


def direction(offered: int, dropped: int) -> dict[str, int]:
    return {"offered_packets": offered, "dropped_packets": dropped, "overflow_packets": 0}


def proven(dropped: int, **other: Any) -> dict[str, Any]:
    proof = {"downlink": direction(1000, dropped), "uplink": direction(1000, 10), "udp_rcvbuf_errors": 0, "host": None}
    return trial(1, H3, proof={**proof, **other})


def test_a_loss_that_chance_explains_is_in_tolerance_and_another_is_red() -> None:
    asked = cell(loss_pct=1.0)
    fine = {row.what: row for row in linkproof.rows(asked, [proven(12)], None)}
    wrong = {row.what: row for row in linkproof.rows(asked, [proven(60)], None)}
    assert not fine["Loss, to the client"].out
    assert fine["Loss, to the client"].achieved.startswith("1.20\u00a0% (0.69 to 2.09, 12 of 1,000 packets)")
    assert wrong["Loss, to the client"].out
    assert not wrong["Loss, from the client"].out


def test_packets_lost_in_the_socket_buffer_and_a_far_rtt_are_red() -> None:
    proof = {"rtt_requested_ms": 10.0, "rtt_achieved_ms": 14.0}
    rows = linkproof.rows(cell(proof=proof, unproven_reason="RTT"), [proven(0, udp_rcvbuf_errors=3)], None)
    assert {row.what for row in rows if row.out} >= {"Round-trip time", "UDP packets lost in the socket buffer"}


def test_wilson_holds_the_share() -> None:
    low, high = linkproof.wilson(10, 1000, 1.96)
    assert (low, high) == (pytest.approx(0.00544, abs=1e-4), pytest.approx(0.01831, abs=1e-4))
    assert linkproof.wilson(0, 100, 1.96)[0] == 0.0


def compared(client: str, value: float, shown: float | None = None) -> dict[str, Any]:
    return {
        "client": client,
        "n": 10,
        "value_pct": value,
        "shown_pct": value if shown is None else shown,
        "p_value": 0.001,
        "paired_n": 10,
        "paired_pct": value,
        "ci_low_pct": value - 1,
        "ci_high_pct": value + 1,
        "confidence": 0.95,
    }


def test_clients_are_drawn_over_the_best_of_each_column() -> None:
    item = {
        **cell(), "best": "a-h3",
        "clients": [compared("a-h3", 0.0), compared("b-h3", 15.0), compared("c-h3", 3.0, 0.0)],
    }  # fmt: skip
    (grid,) = grids({"clients": ["a-h3", "b-h3", "c-h3"], "providers": [{"provider": "p", "cells": [item]}]})
    figure = clients_figure(grid, 20.0)
    assert [row[0] for row in figure.data[0].z] == [0.0, 15.0, 3.0]
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 20.0)
    assert list(figure.data[1].text) == ["<b>best</b>", "+15.0\u00a0%", "+3.0\u00a0% ?"]


@pytest.mark.parametrize("colour", [*LIGHT.series, LIGHT.h2, LIGHT.h3, LIGHT.alert])
def test_lines_stand_out_from_the_surface(colour: str) -> None:
    assert contrast(colour, LIGHT.surface) >= 3.0

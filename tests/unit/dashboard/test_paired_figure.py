from __future__ import annotations

from dashboard.figures.paired import paired_figure
from dashboard.figures.palette import contrast, palette
from tests.unit.dashboard.samples import trial

H2, H3 = "curl-quiche-h2", "curl-quiche-h3"


def test_pairs_are_joined_only_where_both_delivered() -> None:
    trials = [trial(0, H2), trial(0, H3), trial(1, H2, 100.0), trial(1, H3, 110.0), trial(2, H2), trial(2, H3, None)]
    figure = paired_figure(trials, H2, H3)
    pairs = figure.data[0]
    assert list(pairs.x) == [0, 0, None, 1, 1, None]
    assert list(pairs.y)[3:5] == [100.0, 110.0]


def test_the_warm_up_is_hollow_and_a_failure_is_a_cross() -> None:
    figure = paired_figure([trial(0, H2), trial(1, H2), trial(1, H3, None)], H2, H3)
    by_name = {t.name: t for t in figure.data}
    assert by_name["H2 warm-up"].marker.symbol == "square-open"
    assert list(by_name["H2 warm-up"].x) == [0]
    assert list(by_name[f"H2 ({H2})"].x) == [1]
    assert by_name["H3 failed"].marker.symbol == "x-thin-open"
    assert list(by_name["H3 failed"].text) == ["timeout"]


def test_axes_have_units() -> None:
    figure = paired_figure([trial(1, H2)], H2, H3)
    assert figure.layout.yaxis.title.text == "TTLB (ms)"


def test_no_trials_yet_is_an_empty_plot() -> None:
    assert all(not trace.x for trace in paired_figure([], H2, H3).data)


def test_the_lines_that_join_pairs_can_be_told_from_the_grid() -> None:
    for scheme in ("light", "dark"):
        figure = paired_figure([trial(1, H2), trial(1, H3, 110.0)], H2, H3, scheme)
        pairs = next(t for t in figure.data if t.name == "pairs")
        assert contrast(pairs.line.color, palette(scheme).surface) > 2.0
        assert not figure.layout.xaxis.showgrid

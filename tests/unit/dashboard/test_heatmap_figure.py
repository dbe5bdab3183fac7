"""What a person sees in a heatmap: order, colour, words, and the marks of what is no result."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import pytest

from dashboard.figures.grid import DELAY, LOSS, RATE, TIME, Panel, all_cells, best_axis, off_grid, panels
from dashboard.figures.heatmap import CELL_PX, WIDE_CELL_PX, Look, heatmap_figure
from dashboard.figures.palette import CLIP_PCT, DARK, LIGHT, Palette, contrast, diverging, legible_on, muted_diverging
from dashboard.links import cell_href
from dashboard.merge import labelled, merged
from tests.unit.dashboard.samples import arm, campaign, cell, heatmap


def checked(panel: Panel, look: Look | None = None) -> go.Figure:
    """The figure as Plotly checks it: a property or value that it does not know is an error."""
    return go.Figure(heatmap_figure(panel, look or Look()))


def figure_of(*cells: dict[str, Any], axis: Any = LOSS) -> go.Figure:
    (panel,) = panels(heatmap(*cells), axis)
    return checked(panel)


def trace(figure: go.Figure, name: str) -> Any:
    (found,) = [t for t in figure.data if t.name == name]
    return found


def words(figure: go.Figure) -> str:
    return " ".join(text for name in ("numbers", "intervals", "rounds") for text in trace(figure, name).text)


def redness(colour: str) -> int:
    return int(colour[1:3], 16) - int(colour[5:7], 16)


def test_rows_go_from_mild_to_severe_and_columns_from_small_to_large() -> None:
    figure = figure_of(
        cell("loss-1", "5MB", loss_pct=1.0),
        cell("baseline", "1MB"),
        cell("loss-0.1", "100KB", loss_pct=0.1),
    )
    assert [text.replace("\u00a0", " ") for text in figure.layout.yaxis.ticktext] == ["0 %", "0.1 %", "1 %"]
    assert [text.replace("\u00a0", " ") for text in figure.layout.xaxis.ticktext] == ["100 KB", "1 MB", "5 MB"]
    assert figure.layout.yaxis.title.text == "Extra loss"
    low, high = figure.layout.yaxis.range
    assert low > high  # the first row is drawn on top


def test_delay_rows_say_what_was_added_to_the_round_trip() -> None:
    figure = figure_of(cell(), cell("delay-100", extra_rtt_ms=100.0), axis=DELAY)
    assert [text.replace("\u00a0", " ") for text in figure.layout.yaxis.ticktext] == ["0 ms", "100 ms"]
    assert figure.layout.yaxis.title.text == "Extra delay (RTT)"


@pytest.mark.parametrize(("sizes", "side"), [(["100KB", "1MB"], WIDE_CELL_PX), (["100KB", "1MB", "5MB"], CELL_PX)])
def test_cells_are_squares(sizes: list[str], side: int) -> None:
    figure = figure_of(*(cell(size=size) for size in sizes), cell("loss-1", loss_pct=1.0))
    margin = figure.layout.margin
    assert figure.layout.width - margin.l - margin.r == len(sizes) * side
    assert figure.layout.height - margin.t - margin.b == 2 * side


@pytest.mark.parametrize("pal", [LIGHT, DARK])
def test_slower_is_red_and_faster_is_blue_and_zero_is_neither(pal: Palette) -> None:
    assert redness(diverging(pal, 20)) > 60
    assert redness(diverging(pal, -20)) < -60
    assert abs(redness(diverging(pal, 0))) < 15
    assert diverging(pal, 25) == diverging(pal, 250)


def test_the_scale_is_symmetric_about_zero() -> None:
    colours = trace(figure_of(cell()), "established")
    assert (colours.zmin, colours.zmax) == (-CLIP_PCT, CLIP_PCT)
    assert colours.z[0][0] == pytest.approx(12.34)


@pytest.mark.parametrize("pal", [LIGHT, DARK])
@pytest.mark.parametrize("colour_of", [diverging, muted_diverging])
def test_text_is_legible_on_every_colour_of_the_scale(pal: Palette, colour_of: Any) -> None:
    for step in range(-300, 301):
        background = colour_of(pal, step / 10)
        assert contrast(legible_on(background), background) >= 4.5


def test_an_established_cell_shows_sign_interval_and_n() -> None:
    text = words(figure_of(cell(diff=12.34))).replace("\u00a0", " ")
    assert "<b>+12.3 %</b>" in text
    assert "+10.3 … +14.3" in text
    assert "n = 10" in text


def test_a_minus_is_a_minus_sign() -> None:
    assert "<b>\u22124.0\u00a0%</b>" in words(figure_of(cell(diff=-4.0)))


def test_what_rounds_to_zero_has_no_sign() -> None:
    assert "<b>0.0\u00a0%</b>" in words(figure_of(cell(diff=-0.04)))


@pytest.mark.parametrize(
    ("changes", "word", "mark"),
    [
        ({"verdict": "inconclusive"}, "? inconclusive", "hatch inconclusive"),
        ({"verdict": "unproven"}, "! unproven", "hatch unproven"),
        ({"verdict": "equivalent"}, "= equivalent", "outline equivalent"),
        ({"candidate": arm(0, None, timeout=10), "n": 0, "diff_pct": None}, "H3 failing", "hatch failing"),
        ({"n": 0, "diff_pct": None, "verdict": "no data"}, "no data", "outline no data"),
        ({"n": 0, "diff_pct": None, "verdict": "no data", "state": "running"}, "measuring", "outline measuring"),
    ],
)
def test_kinds_differ_without_colour(changes: dict[str, Any], word: str, mark: str) -> None:
    figure = figure_of(cell(**changes))
    assert word in words(figure)
    assert len(trace(figure, mark).x) == 6  # one frame of five points and a gap
    others = [t for t in figure.data if t.name.startswith(("hatch", "outline")) and t.name != mark]
    assert not any(t.x for t in others)


def test_what_is_not_established_is_paler() -> None:
    figure = figure_of(cell(verdict="inconclusive"))
    assert trace(figure, "established").z[0][0] is None
    assert trace(figure, "not established").z[0][0] == pytest.approx(12.34)
    assert abs(redness(muted_diverging(LIGHT, 20))) < abs(redness(diverging(LIGHT, 20)))


def test_a_pending_cell_is_empty_with_a_dot() -> None:
    figure = figure_of(cell(diff=None, state="pending"))
    assert words(figure).split() == ["·"]


def test_failures_are_counted_in_the_cell_and_named_on_hover() -> None:
    figure = figure_of(cell(candidate=arm(8, 112.0, timeout=2), n=8))
    assert "2\u00a0failed" in words(figure)
    assert "failed: 2 timeout" in trace(figure, "established").hovertext[0][0]


def test_hover_tells_everything() -> None:
    text = trace(figure_of(cell()), "established").hovertext[0][0].replace("\u00a0", " ")
    for part in (
        "testbed-caddy",
        "+12.3 %",
        "95 % interval +10.3 … +14.3 %",
        "n = 10",
        "H2: median TTLB 100 ms",
        "H3: median TTLB 112 ms",
        "RTT 10.0 ms requested, 10.2 ms achieved (uml box)",
        "H3 slower.",
        "HTTP/3 needed more time",
    ):
        assert part in text


def test_hover_escapes_what_the_api_says() -> None:
    text = trace(figure_of(cell(profile="<img src=x>")), "established").hovertext[0][0]
    assert "<img" not in text


def test_the_title_says_testbed_and_base_rtt() -> None:
    title = figure_of(cell()).layout.title.text
    assert "testbed-caddy" in title
    assert "testbed stand-in" in title
    assert "base RTT 10 ms" in title


def test_every_figure_has_the_same_traces_so_that_updates_do_not_flicker() -> None:
    names = [t.name for t in figure_of(cell(diff=None, state="pending")).data]
    assert names == [t.name for t in figure_of(cell(), cell(size="1MB", verdict="unproven")).data]
    assert figure_of(cell()).layout.uirevision


def test_no_text_is_empty_since_plotly_would_lose_others_on_an_update() -> None:
    figure = figure_of(cell(diff=None, state="pending"), cell(size="1MB"))
    texts = [trace(figure, name).text for name in ("numbers", "intervals", "rounds")]
    assert all(text for line in texts for text in line)


def test_the_baseline_is_in_both_grids_and_other_conditions_are_listed() -> None:
    both = cell("both", loss_pct=1.0, extra_rtt_ms=50.0)
    unshaped = cell("unshaped", rate_mbit_s=None)
    twin = cell("twin", loss_pct=1.0)
    data = heatmap(cell(), cell("loss-1", loss_pct=1.0), twin, cell("delay-50", extra_rtt_ms=50.0), both, unshaped)
    for axis, severe in ((LOSS, 1.0), (DELAY, 50.0)):
        (panel,) = panels(data, axis)
        assert panel.rows == (0.0, severe)
        assert panel.cells[0][0] is not None
        assert panel.cells[0][0]["profile"] == "baseline"
    assert {c["profile"] for _, c in off_grid(data)} == {"both", "twin"}
    (by_rate,) = panels(data, RATE)
    assert [by_rate.axis.row_label(row, "UTC") for row in by_rate.rows] == ["not shaped", "10"]
    assert len(all_cells(data)) == 6


def test_cells_stand_at_their_row_and_column() -> None:
    (panel,) = panels(heatmap(cell(), cell("loss-1", "1MB", loss_pct=1.0)), LOSS)
    found = panel.cells[1][1]
    assert found is not None
    assert found["profile"] == "loss-1"
    assert panel.cells[0][1] is None
    assert len(panel.cells) == 2


def test_one_name_at_two_distances_makes_two_panels() -> None:
    data = heatmap(cell())
    data["providers"].append({**data["providers"][0], "base_rtt_ms": 40.0})
    assert len({panel.key for panel in panels(data, LOSS)}) == 2


def test_a_difference_within_the_noise_is_muted_and_marked() -> None:
    figure = figure_of(cell(below_floor=True, aa_floor_pct=15.0))
    assert trace(figure, "established").z[0][0] is None
    assert trace(figure, "not established").z[0][0] == pytest.approx(12.34)
    assert "~ in the noise" in words(figure)
    assert len(trace(figure, "outline below floor").x) > 0
    assert "A/A floor: ±15.0 %" in trace(figure, "not established").hovertext[0][0]


def test_hover_names_tests_phase_and_what_was_left_out() -> None:
    found = cell(
        p_value=0.002,
        q_value=0.0004,
        left_out=2,
        left_out_reasons={"steal": 2},
        near_ceiling=["curl-quiche-h3"],
        phases={
            "total": {"diff_ms": 40.0},
            "phases": [{"phase": "transfer", "diff_ms": 35.0}],
            "explains": "transfer",
        },
    )
    text = trace(figure_of(found), "established").hovertext[0][0].replace("\u00a0", " ")
    for part in (
        "Wilcoxon p = 0.002, q &lt; 0.001 over this grid",
        "Left out: 2 trials (2 steal)",
        "Near its own ceiling: curl-quiche-h3",
        "Explained by the transfer: +35.0 ms of +40.0 ms",
    ):
        assert part in text


def test_a_bound_from_time_outs_is_drawn_as_a_bound() -> None:
    text = words(figure_of(cell(diff_pct=None, at_least_pct=250.0, ci_low_pct=None, verdict="h2 faster")))
    assert "≥\u00a0+250\u00a0%" in text


def paper(value: float | None, label: str | None, limit: float = 20.0) -> dict[str, Any]:
    return {
        "value_pct": value, "label": label, "h2_client": "a-h2", "h3_client": "b-h3", "p_value": 0.2,
        "limits_pct": (-limit, limit),
    }  # fmt: skip


def test_a_paper_mode_draws_the_papers_number_and_limits() -> None:
    (panel,) = panels(heatmap(cell(verdict="inconclusive", paper=paper(7.0, "7.0"))), LOSS)
    figure = checked(panel, Look(mode="yu2020"))
    colours = trace(figure, "established")
    assert colours.z[0][0] == 7.0
    assert (colours.zmin, colours.zmax) == (-20.0, 20.0)
    assert "<b>7.0</b>" in words(figure)
    assert "inconclusive" not in words(figure)


def test_a_paper_mode_prints_nothing_where_the_paper_does_and_keeps_unproven() -> None:
    (panel,) = panels(
        heatmap(cell(paper=paper(2.0, None, 25.0)), cell(size="1MB", verdict="unproven", paper=paper(9.0, "9.0"))), LOSS
    )
    figure = checked(panel, Look(mode="yu2021"))
    assert "%" not in words(figure)
    assert "! unproven" in words(figure)
    assert len(trace(figure, "hatch unproven").x) > 0


def test_a_square_leads_to_its_cell() -> None:
    data = labelled(campaign(), heatmap(cell(cell_id=7)))
    (panel,) = panels(data, LOSS)
    look = Look(href=lambda found: cell_href(found, data))
    (href,) = trace(checked(panel, look), "established").customdata[0]
    assert href == f"/campaigns/{campaign()['id']}/cells/7?baseline=curl-quiche-h2&candidate=curl-quiche-h3"


def test_of_several_campaigns_each_square_is_the_newest_that_measured_it() -> None:
    old = labelled(campaign(id="old"), heatmap(cell(diff=1.0), cell("loss-1", diff=2.0, loss_pct=1.0)))
    new = labelled(
        campaign(id="new"), heatmap(cell(diff=3.0), cell("loss-1", diff=None, loss_pct=1.0, state="pending"))
    )
    found = {c["profile"]: c["campaign_id"] for _, c in all_cells(merged([new, old]))}
    assert found == {"baseline": "new", "loss-1": "old"}
    assert len(all_cells(merged([new, old], every=True))) == 4


def test_the_time_axis_has_a_row_per_campaign_in_the_viewers_zone() -> None:
    nights = [
        labelled(campaign(id=str(day), started_at=f"2025-11-{day}T03:00:00Z"), heatmap(cell())) for day in (21, 20)
    ]
    (panel,) = panels(merged(nights, every=True), TIME)
    labels = [panel.axis.row_label(row, "Europe/Berlin") for row in panel.rows]
    assert labels == ["20 Nov 2025 04:00", "21 Nov 2025 04:00"]


def test_only_the_chosen_sizes_are_shown_and_the_axis_with_most_rows_comes_first() -> None:
    data = heatmap(cell(), cell(size="1MB"), cell("a", rate_mbit_s=40.0), cell("b", rate_mbit_s=100.0))
    assert panels(data, LOSS, ["1MB"])[0].columns == ("1MB",)
    assert best_axis(data) is RATE

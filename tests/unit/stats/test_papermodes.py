"""The paper's squares to the digit, and that their bias is said."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from lastbyte.stats.papermodes import by_protocol, client_comparison, yu2020, yu2021

CELL = {
    "chrome_h3": [210.0, 214.0, 209.0, 260.0, 211.0],
    "proxygen_h3": [205.0, 207.0, 206.0, 330.0, 204.0],
    "ngtcp2_h3": [219.0, 218.0, 221.0, 220.0, 222.0],
    "chrome_h2": [248.0, 251.0, 250.0, 249.0, 252.0],
    "curl_h2": [255.0, 244.0, 243.0, 245.0, 280.0],
    "firefox_h3": [1.0, 1.0, 1.0, 1.0, 1.0],
}
H2, H3 = by_protocol(CELL)


def test_clients_are_told_apart_by_name_and_firefox_is_left_out() -> None:
    assert list(H2) == ["chrome_h2", "curl_h2"]
    assert list(H3) == ["chrome_h3", "proxygen_h3", "ngtcp2_h3"]


def test_2020_takes_the_lowest_means() -> None:
    """Means: ngtcp2 220, chrome 220.8, proxygen 230.4; chrome_h2 250, curl 253.4. Welch: t = 30, 8 degrees."""
    square = yu2020(H2, H3)
    assert (square.h2_client, square.h3_client) == ("chrome_h2", "ngtcp2_h3")
    assert square.value_pct == (220.0 - 250.0) / 250.0 * 100
    assert square.label == "-12.0%"
    assert square.p_value == pytest.approx(1.6e-9, rel=0.1)
    assert square.limits_pct == (-20.0, 20.0)


def test_2021_takes_the_lowest_medians_of_possibly_other_clients() -> None:
    """Medians: proxygen 206, chrome 211, ngtcp2 220; curl_h2 245, chrome_h2 250."""
    square = yu2021(H2, H3)
    assert (square.h2_client, square.h3_client) == ("curl_h2", "proxygen_h3")
    assert square.value_pct == (206.0 - 245.0) / 245.0 * 100
    assert square.label == "-15.9%"
    assert square.p_value is None
    assert square.limits_pct == (-25.0, 25.0)


def test_2020_shows_zero_from_p_one_hundredth_on() -> None:
    rng = np.random.default_rng(1)
    h2, h3 = {"a_h2": rng.normal(100, 10, 10)}, {"a_h3": rng.normal(99, 10, 10)}
    square = yu2020(h2, h3)
    assert square.p_value is not None
    assert square.p_value >= 0.01
    assert (square.value_pct, square.label) == (0.0, "0.0%")
    assert "not that there is no difference" in square.note
    assert yu2021(h2, h3).value_pct != 0


def test_welch_and_not_students_test() -> None:
    """Welch 1947: each sample has a variance of its own, and the degrees of freedom follow from both."""
    quiet, wild = np.array([100.0, 101.0, 99.0, 100.5] * 5), np.array([80.0, 104.0, 90.0, 86.0])
    square = yu2020({"h2": quiet}, {"h3": wild})
    a, b = quiet.var(ddof=1) / quiet.size, wild.var(ddof=1) / wild.size
    t = (wild.mean() - quiet.mean()) / np.sqrt(a + b)
    degrees = (a + b) ** 2 / (a**2 / (quiet.size - 1) + b**2 / (wild.size - 1))
    assert square.p_value == pytest.approx(2 * scipy_stats.t.sf(abs(t), degrees))
    assert square.value_pct == 0
    assert scipy_stats.ttest_ind(quiet, wild).pvalue < 0.01  # Student's would have shown -10 %


def test_2021_hides_small_numbers_only() -> None:
    assert yu2021({"a": [100.0]}, {"b_h3": [104.9]}).label is None
    assert yu2021({"a": [100.0]}, {"b_h3": [104.9]}).value_pct == pytest.approx(4.9)
    assert yu2021({"a": [100.0]}, {"b_h3": [95.0]}).label == "-5.0%"


def test_a_missing_side_is_no_zero() -> None:
    for square in (yu2020({}, H3), yu2021(H2, {}), yu2020(H2, {"x_h3": []})):
        assert (square.value_pct, square.label) == (None, None)


def test_clients_over_the_best_h3_client() -> None:
    by_mean = client_comparison(H3)
    assert by_mean.best == "ngtcp2_h3"
    percents = {c.client: c.value_pct for c in by_mean.clients}
    assert percents["ngtcp2_h3"] == 0
    assert percents["proxygen_h3"] == (230.4 - 220.0) / 220.0 * 100
    assert {c.client: c.shown_pct for c in by_mean.clients}["proxygen_h3"] == 0  # p = 0.7
    by_median = client_comparison(H3, "yu2021")
    assert by_median.best == "proxygen_h3"
    shown = {c.client: c.shown_pct for c in by_median.clients}
    assert shown["chrome_h3"] == (211.0 - 206.0) / 206.0 * 100
    assert by_median.limits_pct == (0.0, 20.0)


def test_the_selection_bias_is_said_beside_each_square() -> None:
    for square in (yu2020(H2, H3), yu2021(H2, H3)):
        assert "Best of 3 H3 against best of 2 H2" in square.note
        assert "biased towards the side with more clients" in square.note
    assert "happens to be best" in client_comparison(H3).note


def test_constant_samples_show_their_difference_as_the_scripts_did() -> None:
    square = yu2020({"a": [100.0, 100.0]}, {"b_h3": [90.0, 90.0]})
    assert square.value_pct == pytest.approx(-10)
    assert yu2020({"a": [100.0]}, {"b_h3": [90.0]}).p_value is None

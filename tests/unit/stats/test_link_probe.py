"""What a moment's probe says of rate and loss, and what it can't."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lastbyte.domain.link_probe import DirectionProbe, LinkProbe
from lastbyte.domain.loss import GilbertElliott
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.timeline import Change, Step, Timeline
from lastbyte.stats.link_probe import link_out_of_tolerance, loss_interval_pct, loss_unjudged, rate_unjudged
from netem.quick_probe import rate_of, train_packets

GOOD = DirectionProbe(10.0, 10.02, 0.0, 1000, 0)
LOSSY = replace(GOOD, loss_requested_pct=1.0, lost=10)
RATED = Impairment(rate_mbit_s=10)


def judged(way: DirectionProbe) -> str:
    return link_out_of_tolerance(LinkProbe(GOOD, way, 0.3))


@pytest.mark.parametrize("way", [GOOD, LOSSY, replace(GOOD, lost=2), replace(GOOD, rate_mbit_s=9.6)])
def test_what_is_as_requested_is_believed(way: DirectionProbe) -> None:
    assert judged(way) == ""


@pytest.mark.parametrize(
    ("way", "words"),
    [
        (replace(GOOD, rate_mbit_s=9.4), "uplink's rate was 9.4 Mbit/s where 10 Mbit/s ± 5%"),
        (replace(GOOD, rate_mbit_s=11), "rate was 11"),
        (replace(GOOD, rate_mbit_s=None), "Too little of a train came through the uplink"),
        (replace(GOOD, lost=3), "lost 3 of 1000 probes where 0 % was requested"),
        (replace(LOSSY, lost=40), "lost 40 of 1000 probes where 1 %"),
        (replace(LOSSY, loss_requested_pct=5, lost=5), "lost 5 of 1000"),
    ],
)
def test_what_is_not_is_said_with_both_figures(way: DirectionProbe, words: str) -> None:
    assert words in judged(way)


def test_what_can_not_be_judged_is_not() -> None:
    assert judged(replace(GOOD, rate_mbit_s=None, rate_unjudged="jitter")) == ""
    assert judged(replace(GOOD, lost=500, loss_unjudged="bursts")) == ""
    assert judged(replace(GOOD, rate_requested_mbit_s=None, rate_mbit_s=None)) == ""
    assert loss_interval_pct(replace(LOSSY, loss_unjudged="bursts")) is None
    low, high = loss_interval_pct(LOSSY) or (0, 0)
    assert low < 1 < high


@pytest.mark.parametrize(
    "asked",
    [
        Impairment(),
        replace(RATED, jitter_ms=3),
        replace(RATED, reorder_pct=1, delay_ms=10),
        replace(RATED, rate_mbit_s=0.05),
        replace(RATED, rate_mbit_s=2000),
    ],
)
def test_no_train_is_sent_where_it_would_tell_nothing(asked: Impairment) -> None:
    assert rate_unjudged(asked, Profile("x"))
    assert train_packets(asked, Profile("x")) == 0


def test_a_train_is_sized_by_rate_and_queue() -> None:
    plain = Profile("x")
    assert rate_unjudged(RATED, plain) == ""
    assert rate_unjudged(RATED, Profile("x", timeline=Timeline((Step(100, Change(rate_share=0.5)),)))) != ""
    assert train_packets(RATED, plain) == 66  # 80 ms
    assert train_packets(replace(RATED, rate_mbit_s=0.3), plain) == 12
    assert train_packets(replace(RATED, rate_mbit_s=300), plain) == 272
    assert train_packets(replace(RATED, queue_packets=20), plain) == 16


def test_losses_that_come_together_are_not_counted_as_single_ones() -> None:
    assert loss_unjudged(Impairment(loss_pct=1)) == ""
    assert loss_unjudged(Impairment(loss_gemodel=GilbertElliott(p_pct=1, r_pct=30)))
    assert loss_unjudged(Impairment(loss_pct=1, loss_correlation_pct=25))


def test_a_moments_halt_does_not_change_the_rate() -> None:
    spacing_s = 1514 * 8 / 10e6
    arrivals = [n * spacing_s for n in range(60)]
    assert rate_of(arrivals) == pytest.approx(10)
    held_up = [max(time, 0.030) if time > 0.020 else time for time in arrivals]
    assert rate_of(held_up) == pytest.approx(10, rel=0.02)
    assert rate_of(arrivals[:5]) is None

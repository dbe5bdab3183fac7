"""What is believed of a link and its machine, and what is not."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from scipy import stats

from lastbyte.domain.loss import GilbertElliott
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.trial import DirectionCounters, HostUse, LinkProof
from lastbyte.stats.binomial import at_most, quantile
from lastbyte.stats.tolerance import (
    cell_out_of_tolerance,
    labels_of,
    outside_gate,
    overflow_packets,
    trial_out_of_tolerance,
)

CLEAR = Profile("clear")
LIMITED = Profile("limited", downlink=Impairment(rate_mbit_s=10), uplink=Impairment(rate_mbit_s=10))
LOSSY = Profile("lossy", downlink=Impairment(loss_pct=1), uplink=Impairment(loss_pct=1))
CALM = HostUse(1.0, 0.5, 0.0, 0.0, 1.0, 0.1, 0.3)


def counted(sent: int = 1000, dropped: int = 0) -> DirectionCounters:
    return DirectionCounters(sent, sent * 1500, dropped, 0)


def proof(
    down: DirectionCounters | None = None, up: DirectionCounters | None = None, errors: int = 0, host: HostUse = CALM
) -> LinkProof:
    return LinkProof(down or counted(), up or counted(100), errors, host)


@pytest.mark.parametrize("n", [1, 20, 75, 3500, 20_000])
@pytest.mark.parametrize("probability", [0.001, 0.01, 0.3])
def test_binomial_agrees_with_scipy(n: int, probability: float) -> None:
    for level in (0.01, 0.5, 0.999):
        assert quantile(level, n, probability) == stats.binom.ppf(level, n, probability)
    for count in (0, n // 100, n // 3):
        assert at_most(count, n, probability) == pytest.approx(stats.binom.cdf(count, n, probability), abs=1e-9)


def test_a_calm_trial_is_believed() -> None:
    assert trial_out_of_tolerance(LIMITED, proof()) == ""
    assert trial_out_of_tolerance(LOSSY, proof(counted(990, 10), counted(100, 1))) == ""
    assert trial_out_of_tolerance(CLEAR, replace(proof(), host=None)) == "", "trials of older versions have none"


def test_offered_is_what_came_out_and_what_was_dropped() -> None:
    assert counted(990, 10).offered_packets == 1000


def test_without_random_loss_every_drop_is_overflow() -> None:
    assert overflow_packets(counted(900, 7), Impairment()) == 7
    assert trial_out_of_tolerance(LIMITED, proof(counted(900, 70))) == "", "a queue of the profile's size may be full"


def test_with_random_loss_only_the_drops_it_does_not_explain_are_overflow() -> None:
    generator = random.Random(1)  # noqa: S311
    for _ in range(200):
        dropped = sum(generator.random() < 0.01 for _ in range(1000))
        assert overflow_packets(counted(1000 - dropped, dropped), LOSSY.downlink) <= 2
    assert overflow_packets(counted(900, 100), LOSSY.downlink) >= 75


def test_a_link_that_loses_less_than_it_should_is_not_believed() -> None:
    assert "0 of 3500" in trial_out_of_tolerance(LOSSY, proof(counted(3500, 0)))
    assert trial_out_of_tolerance(LOSSY, proof(counted(80, 0))) == "", "too few packets to tell"


def test_datagrams_lost_in_the_clients_buffer_are_losses_that_nobody_asked_for() -> None:
    assert "socket lost 2 of 1000" in trial_out_of_tolerance(CLEAR, proof(errors=2))
    assert trial_out_of_tolerance(CLEAR, proof(counted(3500), errors=3)) == ""


@pytest.mark.parametrize(
    ("share", "stolen_s", "believed"), [(0.04, 1.0, True), (0.06, 0.12, False), (0.5, 0.02, True), (0.0, 0.0, True)]
)
def test_stolen_time(share: float, stolen_s: float, believed: bool) -> None:
    host = replace(CALM, steal_share=share, steal_s=stolen_s)
    assert (trial_out_of_tolerance(CLEAR, proof(host=host)) == "") is believed


def test_a_box_that_never_rests_can_not_keep_a_rate() -> None:
    busy = replace(CALM, box_cpu_share=0.99)
    assert "99% of one" in trial_out_of_tolerance(LIMITED, proof(host=busy))
    assert trial_out_of_tolerance(CLEAR, proof(host=busy)) == "", "an unlimited link is as fast as its box"
    assert trial_out_of_tolerance(LIMITED, proof(host=replace(busy, elapsed_s=0.1))) == ""


def test_reasons_are_all_told() -> None:
    host = replace(CALM, steal_share=0.2, steal_s=1.0)
    told = trial_out_of_tolerance(CLEAR, proof(errors=50, host=host))
    assert labels_of(told) == ["UDP buffer", "CPU steal"]
    assert labels_of("") == []


def test_probes_that_stay_away() -> None:
    good = (10.0,) * 20
    assert cell_out_of_tolerance(CLEAR, 10, good, 2) == ""
    assert "3 of 23 probes" in cell_out_of_tolerance(CLEAR, 10, good, 3)
    assert cell_out_of_tolerance(LOSSY, 10, good, 4) == "", "the requested loss and two late ones explain them"
    assert "No probe" in cell_out_of_tolerance(CLEAR, 10, (), 20)


def test_the_ambient_gate_asks_for_median_mean_and_deviation() -> None:
    assert outside_gate(10, (10.0, 10.1, 10.2)) == ""
    assert "RTT was" in outside_gate(10, (12.0,) * 20)
    assert "Mean" in outside_gate(10, (10.0,) * 18 + (60.0, 60.0))
    assert "deviated" in outside_gate(200, (200.0,) * 11 + (185.0,) * 9)


BURSTS = Impairment(loss_gemodel=GilbertElliott(p_pct=1, r_pct=30))


def test_of_bursts_nothing_is_told_that_can_not_be_told() -> None:
    bursty = Profile("bursts", downlink=BURSTS, uplink=BURSTS)
    assert trial_out_of_tolerance(bursty, proof(counted(3500, 0))) == ""
    assert overflow_packets(counted(900, 100), BURSTS) == 0
    assert overflow_packets(counted(900, 100), Impairment(), changes=True) == 0
    assert cell_out_of_tolerance(bursty, 10, (10.0,) * 8, 12) == ""
    assert "No probe" in cell_out_of_tolerance(bursty, 10, (), 20)


def test_variation_that_was_asked_for_is_no_fault() -> None:
    shaky = Profile("jitter", downlink=Impairment(delay_ms=50, jitter_ms=30))
    samples = tuple(50.0 + 30 * math.sin(n) for n in range(20))
    assert cell_out_of_tolerance(shaky, 50, samples, 0) == ""
    assert cell_out_of_tolerance(Profile("steady"), 50, tuple(s + 8 for s in samples), 0) != ""
    assert outside_gate(50, samples, spread_ms=shaky.rtt_spread_ms) == ""
    assert outside_gate(50, samples) != ""
    assert cell_out_of_tolerance(shaky, 50, tuple(s + 60 for s in samples), 0) != ""

"""Impairments, burst loss, timelines and warnings: the arithmetic behind profiles."""

from __future__ import annotations

import itertools
import random
from dataclasses import asdict

import pytest

from lastbyte.adapters.postgres.codec import profile_from_json, profile_to_json
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.impairment import MIN_QUEUE_PACKETS, Slot
from lastbyte.domain.loss import FourState, GilbertElliott, correlated_share_pct
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.timeline import Change, Step, Timeline
from netem.profiles import load_profiles


def dice() -> random.Random:
    return random.Random(1)  # noqa: S311 (no secrets here)


def ge_losses(model: GilbertElliott, packets: int, rng: random.Random) -> int:
    """Net/sched/sch_netem.c, loss_gilb_ell: the loss is that of the state before the step."""
    bad, lost = False, 0
    for _ in range(packets):
        lost += rng.random() * 100 < (model.bad_loss_pct if bad else model.good_loss_pct)
        bad = rng.random() * 100 >= model.r_pct if bad else rng.random() * 100 < model.p_pct
    return lost


def state_losses(model: FourState, packets: int, rng: random.Random) -> int:
    """Net/sched/sch_netem.c, loss_4state."""
    state, lost = 1, 0
    for _ in range(packets):
        draw = rng.random() * 100
        if state == 1:
            state = 4 if draw < model.p14_pct else 3 if draw < model.p14_pct + model.p13_pct else 1
        elif state == 2:
            state = 3 if draw < model.p23_pct else 2
        elif state == 3:
            state = 2 if draw < model.p32_pct else 1 if draw < model.p32_pct + model.p31_pct else 3
        else:
            state = 1
        lost += state in (3, 4)
    return lost


@pytest.mark.parametrize("model", [GilbertElliott(1, 10, 70, 0.1), GilbertElliott(0.5, 25), GilbertElliott(3, 97)])
def test_the_mean_loss_of_gilbert_elliott_is_what_its_chain_loses(model: GilbertElliott) -> None:
    lost = ge_losses(model, 400_000, dice())
    assert lost / 4000 == pytest.approx(model.mean_loss_pct, rel=0.05)


@pytest.mark.parametrize("model", [FourState(1, 10, 20, 30, 0.5), FourState(1, 99), FourState(0, 50, p14_pct=2)])
def test_the_mean_loss_of_four_states_is_what_their_chain_loses(model: FourState) -> None:
    lost = state_losses(model, 400_000, dice())
    assert lost / 4000 == pytest.approx(model.mean_loss_pct, rel=0.05)


@pytest.mark.parametrize(("percent", "correlation"), [(3, 25), (10, 25), (25, 50), (60, 30)])
def test_correlation_changes_the_share_as_netems_mixing_does(percent: float, correlation: float) -> None:
    rng, rho, hits, mixed = dice(), correlation / 100, 0, 0.5
    for _ in range(400_000):
        mixed = (1 - rho) * rng.random() + rho * mixed
        hits += mixed <= percent / 100
    assert hits / 4000 == pytest.approx(correlated_share_pct(percent, correlation), rel=0.1, abs=0.01)


def test_the_burst_loss_of_the_study_loses_next_to_nothing() -> None:
    assert correlated_share_pct(0.3, 25) < 1e-5
    assert correlated_share_pct(0.3, 0) == 0.3


@pytest.mark.parametrize("percent", [0, 0.01, 1, 50, 99, 100])
@pytest.mark.parametrize("correlation", [0, 1, 50, 95, 100])
def test_a_share_stays_a_share(percent: float, correlation: float) -> None:
    assert 0 <= correlated_share_pct(percent, correlation) <= 100


def test_bursts_widen_the_scatter() -> None:
    assert GilbertElliott(0.1, 99.9).burst_factor == pytest.approx(1)
    assert GilbertElliott(1, 9).burst_factor == pytest.approx(19)  # (1 + 0.9) / (1 - 0.9)
    assert FourState(1, 9).burst_factor == pytest.approx(19)


def test_a_queue_in_bdps_follows_the_whole_round_trip() -> None:
    item = Impairment(rate_mbit_s=10, delay_ms=25, queue_bdp=2)
    profile = Profile("x", "", item, item)
    # 10 Mbit/s over 50 + 30 ms are 800,000 bits, 66.05 frames of 1514 bytes; twice that.
    assert profile.with_queues(30).downlink.queue_packets == 133
    assert profile.with_queues(30).downlink.queue_bdp is None
    assert profile.with_queues(0).uplink.queue_packets == 83
    assert (
        Profile("y", "", Impairment(rate_mbit_s=10, queue_bdp=1)).with_queues().downlink.queue_packets
        == MIN_QUEUE_PACKETS
    )


ALL = Impairment(
    delay_ms=20, rate_mbit_s=10, jitter_ms=5, jitter_distribution="pareto", loss_state=FourState(1, 10), slot=Slot(2, 5)
)


def test_frozen_profiles_survive_json_and_old_ones_load() -> None:
    timeline = Timeline((Step(100, Change(rate_share=0.1)), Step(300)), 1000)
    profile = Profile("x", "y", ALL, Impairment(loss_gemodel=GilbertElliott(1, 10)), "g", "s", timeline)
    assert profile_from_json(profile_to_json(profile)) == profile
    for known in load_profiles().values():
        assert profile_from_json(profile_to_json(known)) == known
    side = {"delay_ms": 25.0, "loss_pct": 1.0, "rate_mbit_s": 10.0, "queue_packets": 340}
    old = profile_from_json({"name": "old", "description": "of the first version", "downlink": side, "uplink": side})
    assert old == Profile("old", "of the first version", Impairment(25, 1, 10), Impairment(25, 1, 10))


def test_a_step_counts_from_the_profile_not_from_the_step_before() -> None:
    item = Impairment(rate_mbit_s=10, delay_ms=25, loss_gemodel=GilbertElliott(1, 10))
    assert Change(rate_share=0.1).applied_to(item).rate_mbit_s == pytest.approx(1)
    dark = Change(loss_pct=100).applied_to(item)
    assert (dark.loss_pct, dark.loss_gemodel, dark.rate_mbit_s) == (100, None, 10)
    assert Change().applied_to(item) == item


def test_a_repeating_timeline_never_ends_and_one_that_does_not_does() -> None:
    steps = (Step(400, Change(rate_share=0.1)), Step(600))
    times = [at for at, _ in itertools.islice(Timeline(steps, 1000).schedule(), 5)]
    assert times == [400, 600, 1400, 1600, 2400]
    assert [at for at, _ in Timeline(steps).schedule()] == [400, 600]


def test_a_timeline_of_a_bad_step_is_refused() -> None:
    timeline = Timeline((Step(10, Change(rate_mbit_s=1, rate_share=0.5)),))
    with pytest.raises(InvalidInput, match=r"x\.timeline\.steps\.0\.downlink\.rate_share"):
        Profile("x", "", Impairment(rate_mbit_s=1), timeline=timeline).validate()


@pytest.mark.parametrize(
    ("item", "base_rtt_ms", "said"),
    [
        (Impairment(delay_ms=25, jitter_ms=5), None, "reorders packets"),
        (Impairment(delay_ms=25, jitter_ms=5, rate_mbit_s=10), None, "holds back those behind it"),
        (Impairment(delay_ms=5, jitter_ms=6), None, "below a delay of zero"),
        (Impairment(delay_ms=25, jitter_ms=5, jitter_correlation_pct=25), None, "does next to nothing"),
        (Impairment(delay_ms=50, rate_mbit_s=100, queue_packets=340), 10, "below the BDP of 908 packets at 110 ms"),
        (Impairment(rate_mbit_s=10, delay_ms=25, queue_bdp=0.5), None, "below one BDP"),
        (Impairment(rate_mbit_s=1, queue_bdp=1), 10, "10 are used"),
        (Impairment(loss_pct=1), 0, "loss hardly shows at 0 ms"),
        (Impairment(loss_pct=0.3, loss_correlation_pct=25), None, "makes 4e-07 % of the 0.3 %"),
        (Impairment(reorder_pct=5), None, "no delay to overtake"),
        (Impairment(reorder_pct=5, delay_ms=9, rate_mbit_s=10), None, "not held to the rate"),
        (Impairment(corrupt_pct=1), None, "acts as loss"),
        (Impairment(slot=Slot(5)), None, "wait up to 5 ms more"),
    ],
)
def test_what_misleads_is_said(item: Impairment, base_rtt_ms: float | None, said: str) -> None:
    warnings = Profile("x", "", item, item).warnings(base_rtt_ms)
    assert [text for text in warnings if said in text and text.startswith("both directions: ")], warnings
    one_way = Profile("x", "", item).warnings(base_rtt_ms)
    assert all(text.startswith("downlink: ") for text in one_way)


def test_what_does_not_mislead_has_no_warning() -> None:
    profiles = load_profiles()
    for name in ("baseline", "loss-1", "delay-100", "unshaped", "100m-delay-120", "lte", "burst-0.3-100m"):
        assert profiles[name].warnings() == (), name
        assert profiles[name].warnings(20) == (), name
    assert Profile("x", "", Impairment(reorder_pct=5)).warnings(20) == ()  # the base RTT gives the delay


def test_every_field_is_plain_data() -> None:
    assert asdict(Profile("x", "", ALL))["downlink"]["slot"] == {"min_ms": 2, "max_ms": 5, "packets": 0, "bytes": 0}

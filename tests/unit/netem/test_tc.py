"""tc arguments and answers."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.domain.impairment import Slot
from lastbyte.domain.loss import FourState, GilbertElliott
from lastbyte.domain.profile import Impairment
from netem import tc
from netem.readback import differences, parse_qdiscs

impairments = st.builds(
    Impairment,
    delay_ms=st.floats(0, 10_000),
    loss_pct=st.floats(0, 100),
    rate_mbit_s=st.none() | st.floats(0.01, 10_000),
    queue_packets=st.integers(1, 1_000_000),
)


def one_command(item: Impairment, base_ms: float = 0, device: str = "vec0", handle: int = 1) -> list[str]:
    (command,) = tc.Shape(item, base_ms).commands(device, handle)
    return command


def option(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


def test_a_shaped_direction() -> None:
    arguments = one_command(Impairment(delay_ms=25, loss_pct=1, rate_mbit_s=10), 5, "vec0", 10)
    text = "qdisc replace dev vec0 root handle a: netem limit 365 delay 30000us loss random 1.000000% rate 10000000bit"
    assert " ".join(arguments) == text


@pytest.mark.parametrize(
    ("item", "options"),
    [
        (Impairment(delay_ms=20, jitter_ms=5), "delay 20000us 5000us"),
        (
            Impairment(delay_ms=20, jitter_ms=5, jitter_distribution="normal", jitter_correlation_pct=25),
            "delay 20000us 5000us 25.000000% distribution normal",
        ),
        (Impairment(loss_pct=0.3, loss_correlation_pct=25), "loss random 0.300000% 25.000000%"),
        (
            Impairment(loss_gemodel=GilbertElliott(1, 10, 70, 0.1)),
            "loss gemodel 1.000000% 10.000000% 70.000000% 0.100000%",
        ),
        (
            Impairment(loss_state=FourState(1, 10)),
            "loss state 1.000000% 10.000000% 0.000000% 100.000000% 0.000000%",
        ),
        (
            Impairment(delay_ms=1, reorder_pct=5, reorder_correlation_pct=50, reorder_gap=5),
            "delay 1000us reorder 5.000000% 50.000000% gap 5",
        ),
        (Impairment(reorder_pct=5), ""),  # nothing to overtake, and tc refuses it
        (Impairment(duplicate_pct=1), "duplicate 1.000000%"),
        (
            Impairment(duplicate_pct=1, duplicate_correlation_pct=3),
            "delay 0us 0us 0.000000% duplicate 1.000000% 3.000000%",
        ),
        (Impairment(corrupt_pct=0.1), "corrupt 0.100000%"),
        (Impairment(slot=Slot(5, 10, 3, 9000)), "slot 5000us 10000us packets 3 bytes 9000"),
    ],
)
def test_each_option_is_tcs(item: Impairment, options: str) -> None:
    assert " ".join(one_command(item)).partition(" limit ")[2].partition(" ")[2] == options


def test_a_seed_is_the_last_word() -> None:
    (command,) = tc.Shape(Impairment(loss_pct=1)).commands("vec0", 1, seed=2**64 - 1)
    assert command[-2:] == ["seed", "18446744073709551615"]


def test_a_seed_read_back_must_be_the_one_asked_for() -> None:
    row = {"kind": "netem", "handle": "1:", "dev": "v", "root": True, "options": {"limit": 340, "seed": 2**64 - 1}}
    state = parse_qdiscs(json.dumps([row]))["v"]
    shape = tc.Shape(Impairment())
    assert differences(state, 1, shape) == []
    assert differences(state, 1, shape, seed=2**64 - 1) == []
    assert differences(state, 1, shape, seed=2**64 - 2)


def test_the_delay_line_has_room_for_jitter_and_slots() -> None:
    assert tc.longest_delay_ms(Impairment(delay_ms=20, jitter_ms=5, slot=Slot(2, 4)), 10) == 39
    assert tc.longest_delay_ms(Impairment(delay_ms=20, jitter_ms=5, jitter_distribution="normal")) == 40


def test_a_clear_direction_has_a_limit_and_nothing_else() -> None:
    text = "qdisc replace dev port1 root handle 1: netem limit 99"
    assert " ".join(one_command(Impairment(queue_packets=99), 0, "port1", 1)) == text


def test_the_limit_is_delay_line_plus_queue() -> None:
    # 50 ms at 10 Mbit/s: 500,000 bits in flight are 41.3 frames of 1514 bytes.
    assert tc.delay_line_packets(50, 10) == 42
    assert tc.limit_packets(Impairment(delay_ms=40, rate_mbit_s=10, queue_packets=100), base_delay_ms=10) == 142
    assert tc.delay_line_packets(0, None) == 0


@given(impairments, st.floats(0, 1000))
def test_every_argument_list_states_its_limit_and_no_line_is_too_long(item: Impairment, base_ms: float) -> None:
    arguments = one_command(item, base_ms)
    assert int(option(arguments, "limit")) >= item.queue_packets
    assert len(" ".join(arguments)) < 300
    assert all(word and not set(word) & set(" \n;\t") for word in arguments)
    assert ("rate" in arguments) == (item.rate_mbit_s is not None)


@given(impairments, st.floats(0, 1000))
def test_what_is_read_back_as_asked_shows_no_difference(item: Impairment, base_ms: float) -> None:
    row = {
        "kind": "netem",
        "handle": "7:",
        "dev": "vec0",
        "root": True,
        "options": {
            "limit": tc.limit_packets(item, base_ms),
            "delay": {"delay": round((item.delay_ms + base_ms) * 1000) / 1e6},
            "loss-random": {"loss": round(item.loss_pct / 100 * (2**32 - 1)) / (2**32 - 1)},
            "rate": {"rate": round((item.rate_mbit_s or 0) * 1e6 / 8)},
        },
    }
    state = parse_qdiscs(json.dumps([row]))["vec0"]
    if item.rate_mbit_s is None or item.rate_mbit_s > 1:  # below, whole bytes per second are coarse
        assert differences(state, 7, tc.Shape(item, base_ms)) == []
    assert differences(state, 8, tc.Shape(item, base_ms))


@pytest.mark.parametrize(
    "changed",
    [
        Impairment(delay_ms=26, loss_pct=1, rate_mbit_s=10),
        Impairment(delay_ms=25, loss_pct=1.1, rate_mbit_s=10),
        Impairment(delay_ms=25, loss_pct=1, rate_mbit_s=11),
        Impairment(delay_ms=25, loss_pct=1),
        Impairment(delay_ms=25, loss_pct=1, rate_mbit_s=10, queue_packets=1),
    ],
)
def test_every_difference_is_named(changed: Impairment) -> None:
    state = parse_qdiscs(ANSWER)["vec0"]
    assert differences(state, 1, tc.Shape(Impairment(delay_ms=25, loss_pct=1, rate_mbit_s=10))) == []
    assert differences(state, 1, tc.Shape(changed))


ANSWER = json.dumps(
    [
        {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True, "refcnt": 2, "options": {}},
        {
            "kind": "netem",
            "handle": "1:",
            "dev": "vec0",
            "root": True,
            "refcnt": 2,
            "options": {
                "limit": 361,
                "delay": {"delay": 0.025, "jitter": 0, "correlation": 0},
                "loss-random": {"loss": 0.01, "correlation": 0},
                "rate": {"rate": 1250000, "packetoverhead": 0, "cellsize": 0, "celloverhead": 0},
                "ecn": False,
                "gap": 0,
            },
            "bytes": 9000,
            "packets": 100,
            "drops": 3,
            "overlimits": 0,
            "requeues": 0,
            "backlog": 1514,
            "qlen": 1,
        },
    ]
)


def test_an_answer_is_read() -> None:
    state = parse_qdiscs(ANSWER)["vec0"]
    assert (state.kind, state.handle, state.limit_packets) == ("netem", "1:", 361)
    assert math.isclose(state.delay_ms, 25)
    assert math.isclose(state.loss_pct, 1)
    assert state.rate_mbit_s is not None
    assert math.isclose(state.rate_mbit_s, 10)
    assert (state.counters.sent_packets, state.counters.sent_bytes) == (100, 9000)
    assert (state.counters.dropped_packets, state.counters.backlog_packets) == (3, 1)


@pytest.mark.parametrize("text", ["", "{}", "nonsense", '{"a": []}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_qdiscs(text)

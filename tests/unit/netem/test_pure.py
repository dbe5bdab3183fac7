"""Addresses, guests, owners, reports: what can be said without a box."""

import os
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from lastbyte.domain.errors import InvalidInput, PathLost
from lastbyte.domain.profile import Impairment
from netem import nat, uml_guest
from netem.addresses import IPV4_CANDIDATES, free_base, plan
from netem.console import TcConsole, TcFailed
from netem.factory import ShapedPathFactory, choose_box
from netem.path import udp_rcvbuf_errors
from netem.probe import LossReport, ProbeReport, RateReport, RttReport, clopper_pearson_pct, loss_pace
from netem.rundir import SLOTS, Owner, Slot, start_time_of
from netem.uplinks import TestbedState

BASE = IPv4Network(IPV4_CANDIDATES[0])


@given(st.integers(0, SLOTS - 1), st.integers(0, SLOTS - 1))
def test_no_two_paths_share_an_address(first: int, second: int) -> None:
    seen: set[object] = set()
    for slot in {first, second}:
        item = plan(slot, BASE)
        for link in (item.access, item.testbed, item.host):
            ends = {link.near, link.far, link.near6, link.far6}
            assert len(ends) == 4
            assert not ends & seen
            seen |= ends
            assert link.near in link.network
            assert link.far in link.network
            assert link.near6 in link.network6
            assert link.far6 in link.network6
            assert link.network.subnet_of(BASE)


def test_a_network_the_host_uses_is_avoided() -> None:
    assert free_base([]) == BASE
    assert free_base([IPv4Network("10.0.0.0/8"), IPv4Network("0.0.0.0/0")]) == IPv4Network(IPV4_CANDIDATES[1])
    assert free_base([IPv4Network(text) for text in IPV4_CANDIDATES]) is None


DEPENDENCIES = """\
kernel/net/bridge/bridge.ko: kernel/net/ipv6/ipv6.ko kernel/lib/crc-ccitt.ko kernel/net/802/stp.ko
kernel/net/sched/sch_netem.ko.xz:
kernel/lib/crc-ccitt.ko:
"""


def test_modules_are_loaded_after_those_they_need() -> None:
    table = uml_guest.parse_dependencies(DEPENDENCIES)
    assert set(table) == {"bridge", "sch_netem", "crc_ccitt"}
    assert uml_guest.load_order(["bridge", "sch_netem", "builtin"], table) == [
        "kernel/net/802/stp.ko",
        "kernel/lib/crc-ccitt.ko",
        "kernel/net/ipv6/ipv6.ko",
        "kernel/net/bridge/bridge.ko",
        "kernel/net/sched/sch_netem.ko.xz",
    ]


def test_the_guest_gets_both_descriptors_and_a_quoted_script() -> None:
    arguments = uml_guest.kernel_arguments(Path("/run/x/init"), Path("/run/x/uml"), (7, 9))
    assert "vec0:transport=fd,fd=7,vec=0,depth=128" in arguments
    assert "vec1:transport=fd,fd=9,vec=0,depth=128" in arguments
    assert arguments[-2:] == ["--", "/run/x/init"]
    script = uml_guest.init_script([Path("/a b/x.ko")], "/opt/my python", Path("/e.py"))
    assert "insmod '/a b/x.ko'" in script
    assert "'/opt/my python' -I -S /e.py vec0 vec1" in script


def test_an_owner_is_this_process_and_no_other_with_its_number() -> None:
    owner = Owner.current()
    assert owner.is_alive
    assert Owner.parse(f"{owner}-3") == owner
    assert Owner.parse(f"{owner.pid}_{owner.start_time}_0") == owner
    assert not Owner(owner.pid, owner.start_time + 1).is_alive
    assert start_time_of(2**22 + 5) is None
    for text in ("", "12", "a-b", "12-x"):
        assert Owner.parse(text) is None


def test_slots_are_exclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTBYTE_RUN", str(tmp_path))
    first, second = Slot.take(), Slot.take()
    assert (first.number, second.number) == (0, 1)
    first.release()
    first.release()
    third = Slot.take()
    assert third.number == 0
    second.release()
    third.release()


def test_nft_rules_name_only_the_families_and_interfaces_concerned() -> None:
    text = nat.ruleset("lastbyte_1_2_0", "lbn0", plan(0, BASE), {4: ["eth0"]})
    assert "add table ip lastbyte_1_2_0" in text
    assert "ip6" not in text
    assert 'iifname "eth0"' in text
    assert 'oifname "lbn0" ct state new drop' in text
    both = nat.ruleset("lastbyte_1_2_0", "lbn0", plan(0, BASE), {4: [], 6: ["eth0"]})
    assert "add table ip6 lastbyte_1_2_0" in both
    assert both.count("eth0") == 1


def test_udp_errors_are_found_by_name() -> None:
    text = "Udp: InDatagrams NoPorts RcvbufErrors\nUdp: 5 6 7\nUdpLite: RcvbufErrors\nUdpLite: 9\n"
    assert udp_rcvbuf_errors(text) == 7
    assert udp_rcvbuf_errors("Udp6InDatagrams 1\nUdp6RcvbufErrors  \t4\n") == 4
    assert udp_rcvbuf_errors("") == 0


def test_a_testbed_is_read_only_while_it_lives(tmp_path: Path) -> None:
    owner = Owner.current()
    file = tmp_path / "testbed.json"
    assert TestbedState.read(file) is None
    text = (
        '{"pid": %d, "start_time": %d, "netns": "/x", "providers": ['
        '{"name": "a", "address": "10.200.1.1", "address6": "fd00::1"}, {"name": "b", "address": "10.200.1.2"}]}'
    )
    file.write_text(text % (owner.pid, owner.start_time))
    state = TestbedState.read(file)
    assert state is not None
    assert [str(item) for item in state.addresses] == ["10.200.1.1", "10.200.1.2"]
    assert [str(item) for item in state.addresses6] == ["fd00::1"]
    file.write_text(text % (owner.pid, owner.start_time + 1))
    assert TestbedState.read(file) is None
    file.write_text("{")
    assert TestbedState.read(file) is None


@given(st.integers(1, 5000), st.floats(0, 1), st.sampled_from([0.95, 0.999]))
def test_the_interval_is_the_exact_one(sent: int, share: float, confidence: float) -> None:
    lost = round(sent * share)
    low, high = clopper_pearson_pct(lost, sent, confidence)
    exact = binomtest(lost, sent).proportion_ci(confidence, method="exact")
    assert low == pytest.approx(100 * exact.low, abs=1e-6)
    assert high == pytest.approx(100 * exact.high, abs=1e-6)


@given(st.floats(0, 5000), st.none() | st.floats(0.01, 10_000), st.integers(1, 100_000))
def test_the_loss_count_never_fills_the_queue(delay_ms: float, rate: float | None, queue: int) -> None:
    item = Impairment(delay_ms=delay_ms, rate_mbit_s=rate, queue_packets=queue)
    pace = loss_pace(item, delay_ms)
    assert 0 < pace <= 4000
    assert pace * delay_ms / 1e3 <= max(1.0, queue / 3) + 1e-6
    assert rate is None or pace * 64 * 8 <= rate * 1e6


def report(**changes: object) -> ProbeReport:
    values: dict[str, object] = {
        "profile": "p",
        "box": "uml",
        "box_version": "6",
        "base_rtt_ms": 0.0,
        "rtt": RttReport(50, 50.3, 50.2, 50.4, 200, 0),
        "downlink_rate": RateReport(10, 9.99, 13),
        "uplink_rate": RateReport(None, 900, 2000),
        "downlink_loss": LossReport(1, 10_000, 100),
        "uplink_loss": LossReport(1, 10_000, 90),
        "elapsed_s": 9.0,
    }
    return ProbeReport(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"rtt": RttReport(50, 51.1, 50, 52, 200, 0)},
        {"rtt": RttReport(50, None, None, None, 0, 200)},
        {"downlink_rate": RateReport(10, 9.4, 13)},
        {"uplink_rate": RateReport(10, 10.6, 13)},
        {"downlink_loss": LossReport(1, 10_000, 200)},
        {"uplink_loss": LossReport(0, 2_000, 2)},
    ],
)
def test_each_measure_can_spoil_a_report(changes: dict[str, object]) -> None:
    assert report().within_tolerance
    assert not report(**changes).within_tolerance


def test_a_report_has_requested_beside_achieved() -> None:
    values = report().to_json()
    for key in ("rtt_ms", "rate_mbit_s", "loss_pct"):
        part = values[key]
        assert isinstance(part, dict)
        assert {"requested", "achieved"} <= set(part)
    assert report().loss == LossReport(1, 20_000, 190)
    assert report(uplink_loss=LossReport(2, 10, 0)).loss.requested == 2


def test_unknown_boxes_and_uplinks_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"no box 'docker'.*auto, kernel, uml"):
        choose_box("docker")
    with pytest.raises(InvalidInput, match=r"no uplink 'x'.*auto, none, testbed, nat"):
        ShapedPathFactory(uplink="x")  # type: ignore[arg-type]


class Conversation:
    """A console whose other end the test holds."""

    def __init__(self) -> None:
        self.commands, write = os.pipe()
        read, self.answers = os.pipe()
        self.alive = True
        self.console = TcConsole(write, read, lambda: self.alive)

    def close(self) -> None:
        self.console.close()
        os.close(self.commands)


def test_a_frame_ends_at_its_own_line() -> None:
    talk = Conversation()
    os.write(
        talk.answers, b'[{"dev":"a","root":true,"kind":"netem"}]\nObject "end-of-2" is unknown\nCommand failed -:2\n'
    )
    assert set(talk.console.qdiscs()) == {"a"}
    assert os.read(talk.commands, 100) == b"qdisc show\nend-of-2\n"
    # A later frame counts on; a terminal may end lines with CR LF; a refused command is told from the end.
    os.write(talk.answers, b"Error: no.\r\nCommand failed -:3\r\n[]\r\nObject\r\nCommand failed -:5\r\n")
    with pytest.raises(TcFailed, match=r"tc qdisc nonsense: Error: no\."):
        talk.console.configure([["qdisc", "nonsense"]])
    os.close(talk.answers)
    with pytest.raises(PathLost, match="end of its console"):
        talk.console.qdiscs()
    assert talk.console.lost
    with pytest.raises(PathLost, match="gone"):
        talk.console.qdiscs()
    talk.close()
    with pytest.raises(PathLost, match="closed"):
        talk.console.qdiscs()


def test_a_box_that_died_silently_is_lost_at_once() -> None:
    talk = Conversation()
    talk.alive = False
    with pytest.raises(PathLost, match="its process ended"):
        talk.console.qdiscs()
    os.close(talk.answers)
    talk.close()


def test_garbage_is_not_taken_for_counters() -> None:
    talk = Conversation()
    os.write(talk.answers, b"[nonsense\nCommand failed -:2\n")
    with pytest.raises(PathLost, match="unreadable"):
        talk.console.qdiscs()
    os.write(talk.answers, b"Command failed -:4\n")
    with pytest.raises(PathLost, match="without a list"):
        talk.console.qdiscs()
    with pytest.raises(ValueError, match="not a console line"):
        talk.console.configure([["a\nb"]])
    os.close(talk.answers)
    talk.close()

import json
import os
from pathlib import Path

import pytest

from lastbyte.domain.errors import ResolutionFailed
from testbed import state as states


def make(pid: int, start_time: int) -> states.TestbedState:
    return states.TestbedState(
        pid=pid,
        start_time=start_time,
        netns=Path(f"/proc/{pid}/ns/net"),
        ca_file=Path("/v/ca.pem"),
        providers=(
            states.ProviderState("testbed-x", "testbed-x.test", "10.200.1.1", None, "X 1", 10.0, "cubic", "reno"),
        ),
        objects={"100KB": 100_000},
        faults=(states.FaultState("testbed-f", "testbed-f.test", "10.200.8.1", "fd00::1", "fails"),),
    )


def own_start_time() -> int:
    start_time = states.process_start_time(os.getpid())
    assert start_time is not None
    return start_time


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    state = make(os.getpid(), own_start_time())
    states.save(tmp_path, state)
    assert states.load(tmp_path) == state


def test_another_process_of_the_same_number_is_no_testbed(tmp_path: Path) -> None:
    states.save(tmp_path, make(os.getpid(), own_start_time() + 1))
    assert states.load(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pid": 1}', "\x00"])
def test_a_file_that_is_no_state_is_no_testbed(tmp_path: Path, text: str) -> None:
    (tmp_path / "testbed.json").write_text(text)
    assert states.load(tmp_path) is None


def test_a_testbed_removes_its_own_file_only(tmp_path: Path) -> None:
    states.save(tmp_path, make(os.getpid(), 1))
    states.remove(tmp_path, os.getpid() + 1)
    assert json.loads((tmp_path / "testbed.json").read_text())["pid"] == os.getpid()
    states.remove(tmp_path, os.getpid())
    assert not (tmp_path / "testbed.json").exists()
    states.remove(tmp_path, os.getpid())


def test_addresses_by_host() -> None:
    state = make(1, 1)
    assert state.address_of("testbed-x.test") == "10.200.1.1"
    assert state.address_of("testbed-f.test", ipv6=True) == "fd00::1"
    with pytest.raises(ResolutionFailed):
        state.address_of("testbed-x.test", ipv6=True)
    with pytest.raises(ResolutionFailed, match=r"no host a\.example"):
        state.address_of("a.example")

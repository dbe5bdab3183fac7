"""Everything a path made is gone when it is closed, however that comes about."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from lastbyte.domain.errors import PathLost, PathUnavailable
from lastbyte.domain.profile import Profile
from netem.factory import ShapedPathFactory
from netem.path import ShapedPath
from netem.sweep import sweep
from tests.integration.netem.helpers import Owner, descendants, eventually, firewall_rules, links, survivors


def leftovers(run_root: Path) -> list[str]:
    return [entry.name for entry in (run_root / "paths").iterdir()]


def open_fds() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_close_removes_all(box_kind: str, run_root: Path, profiles: dict[str, Profile]) -> None:
    before = links(), firewall_rules(), open_fds(), descendants(os.getpid())
    path = ShapedPathFactory(box_kind, uplink="none").open()
    path.configure(profiles["delay-50"])
    made = descendants(os.getpid())
    assert links() == before[0]  # no interface shows up on the host
    assert leftovers(run_root)
    path.close()
    path.close()
    assert (links(), firewall_rules(), open_fds(), descendants(os.getpid())) == before
    assert eventually(lambda: set(survivors(made)) <= set(before[3]), 1.0)
    assert leftovers(run_root) == []
    assert not path.is_alive()
    for use in (path.counters, path.command_prefix, lambda: path.probe_rtt(1, 0.1)):
        with pytest.raises(PathLost):
            use()


def test_an_exception_removes_all(box_kind: str, run_root: Path) -> None:
    before = open_fds(), descendants(os.getpid())

    class Boom(Exception):
        pass

    with pytest.raises(Boom), ShapedPathFactory(box_kind, uplink="none").open():
        raise Boom
    assert (open_fds(), descendants(os.getpid())) == before
    assert leftovers(run_root) == []


def test_a_failed_opening_removes_all(box_kind: str, run_root: Path, tmp_path: Path) -> None:
    before = open_fds(), descendants(os.getpid())
    factory = ShapedPathFactory(box_kind, uplink="testbed", testbed_state=tmp_path / "none.json")
    with pytest.raises(PathUnavailable, match="No testbed is running"):
        factory.open()
    assert (open_fds(), descendants(os.getpid())) == before
    assert leftovers(run_root) == []


@pytest.mark.parametrize(
    ("number", "in_thread"), [(signal.SIGTERM, False), (signal.SIGKILL, False), (signal.SIGKILL, True)]
)
def test_a_killed_owner_takes_all_with_it(
    box_kind: str, run_root: Path, number: signal.Signals, *, in_thread: bool
) -> None:
    before = links(), firewall_rules()
    with Owner(box_kind, run_root, in_thread=in_thread) as owner:
        assert owner.children
        owner.process.send_signal(number)
        owner.process.wait(60)
        start = time.monotonic()
        assert eventually(lambda: not survivors(owner.children)), survivors(owner.children)
        assert eventually(lambda: leftovers(run_root) == [])
        print(f"{number.name}: all gone after {1e3 * (time.monotonic() - start):.0f} ms")
    assert (links(), firewall_rules()) == before


def test_a_sweep_removes_what_even_the_janitor_left(box_kind: str, run_root: Path) -> None:
    with Owner(box_kind, run_root) as owner, Owner(box_kind, run_root) as living:
        for pid in owner.children:  # the janitor among them: nobody is left to clean up
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        owner.process.kill()
        owner.process.wait()
        assert len(leftovers(run_root)) == 2
        removed = sweep()
        assert any(f"{owner.process.pid}-" in item for item in removed)
        assert [name.split("-")[0] for name in leftovers(run_root)] == [str(living.process.pid)]
        assert living.process.poll() is None
    assert eventually(lambda: leftovers(run_root) == [])


def counters_fail(path: ShapedPath) -> bool:
    try:
        path.counters()
    except PathLost:
        return True
    return False


def test_a_dead_box_is_noticed_quickly(box_kind: str, profiles: dict[str, Profile]) -> None:
    with ShapedPathFactory(box_kind, uplink="none").open() as path:
        path.configure(profiles["delay-50"])
        os.kill(path.box._process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        start = time.monotonic()
        # What is killed is the guest's parent; a question may still be answered before the guest is dead too.
        assert eventually(lambda: counters_fail(path), 2)
        with pytest.raises(PathLost):
            path.configure(profiles["baseline"])
        if box_kind == "uml":  # a kernel box forwards on without its tc
            with pytest.raises(PathLost):
                path.probe_rtt(10, 0.01)
        assert time.monotonic() - start < 2
        assert not path.is_alive()


def test_several_paths_at_once_do_not_meet(box_kind: str, profiles: dict[str, Profile]) -> None:
    factory = ShapedPathFactory(box_kind, uplink="none")
    with factory.open() as first, factory.open() as second:
        assert first.addresses.slot != second.addresses.slot
        first.configure(profiles["delay-50"])
        second.configure(profiles["delay-100"])
        for path, rtt_ms in ((first, 50), (second, 100)):
            assert rtt_ms <= min(path.probe_rtt(10, 0.01).samples_ms) < rtt_ms + 1
        first.close()
        assert second.is_alive()
        assert second.probe_rtt(5, 0.01).lost == 0

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lastbyte.adapters import realtime
from lastbyte.adapters.child_process import ChildRunner

SAY_POLICY = [sys.executable, "-c", "import os; print(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)"]


def test_a_client_runs_before_ordinary_processes_where_that_is_allowed() -> None:
    said = ChildRunner().run(SAY_POLICY, {}, 20).stdout.split()
    expected = [os.SCHED_RR, realtime.CLIENT_PRIORITY] if realtime.allowed() else [os.SCHED_OTHER, 0]
    assert said == [str(number) for number in expected]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER  # asking left this process as it was


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(realtime.SWITCH, "0")
    assert not realtime.allowed()
    assert ChildRunner().run(SAY_POLICY, {}, 20).stdout.split() == [str(os.SCHED_OTHER), "0"]


def test_all_processes_of_a_tree_are_found_and_promoted() -> None:
    tree = [sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '60'])"]
    with subprocess.Popen(tree) as parent:
        try:
            while len(found := realtime.processes_below(parent.pid)) < 2:
                assert parent.poll() is None
            done = [realtime.promote(pid, realtime.BOX_PRIORITY) for pid in found]
            assert done == [realtime.allowed()] * 2
            assert [realtime.is_promoted(pid) for pid in found] == done
        finally:
            for pid in reversed(realtime.processes_below(parent.pid)):
                os.kill(pid, 9)
    assert not realtime.promote(parent.pid, 1)
    assert not realtime.is_promoted(parent.pid)

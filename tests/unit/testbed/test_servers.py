from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from lastbyte.adapters import realtime
from testbed.servers import Server, ServerSpec

SAY_POLICY = (
    "import os, threading\n"
    "said = []\n"
    "thread = threading.Thread(target=lambda: said.append(os.sched_getscheduler(0)))\n"
    "thread.start()\n"
    "thread.join()\n"
    "print(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, *said, flush=True)\n"
)


def said_by_a_server(work: Path) -> list[int]:
    async def run() -> list[int]:
        spec = ServerSpec("policy", "1", (sys.executable, "-c", SAY_POLICY), work, ())
        task = asyncio.create_task(Server(spec).keep_running())
        try:
            while not (said := (work / "log").read_text() if (work / "log").exists() else ""):
                assert not task.done()
                await asyncio.sleep(0.01)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return [int(word) for word in said.splitlines()[0].split()]

    return asyncio.run(run())


def test_a_server_and_its_threads_run_before_ordinary_processes_where_that_is_allowed(tmp_path: Path) -> None:
    expected = [os.SCHED_RR, realtime.ORIGIN_PRIORITY, os.SCHED_RR] if realtime.allowed() else [os.SCHED_OTHER, 0, 0]
    assert said_by_a_server(tmp_path) == expected
    assert os.sched_getscheduler(0) == os.SCHED_OTHER  # starting one left this process as it was


def test_it_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(realtime.SWITCH, "0")
    assert said_by_a_server(tmp_path) == [os.SCHED_OTHER, 0, os.SCHED_OTHER]

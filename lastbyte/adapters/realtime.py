"""Real-time priority for what is timed, so that other programs on the machine don't end up in the results.

A client that has its answer, a box whose timer has run out, or an origin that was asked for something must wait for
nobody: under sched(7)'s SCHED_RR it runs before every ordinary process. All of them sleep nearly all the time, and the
kernel keeps 5 % of each CPU for the others whatever they do (sched_rt_runtime_us). It takes CAP_SYS_NICE; without it
all goes on at ordinary priority.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SWITCH = "LASTBYTE_REALTIME"
"""Environment variable; ``0`` leaves every process at ordinary priority."""
CLIENT_PRIORITY = 1
ORIGIN_PRIORITY = 1
"""Of the testbed's servers: what they stand in for has a machine of its own."""
BOX_PRIORITY = 2
"""Above both: a packet that is due comes before whoever reads the one before it."""


def promote(pid: int, priority: int) -> bool:
    """Give a process, with all its threads, real-time priority; what it starts inherits it.

    False when it is switched off or not allowed, or when the process is gone.
    """
    try:
        threads = [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return False
    return all(_set(thread, priority) for thread in threads)


def _set(thread: int, priority: int) -> bool:
    """0: the calling thread (sched_setscheduler(2))."""
    if os.environ.get(SWITCH) == "0":
        return False
    try:
        os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(priority))
    except OSError:
        return False
    return True


def promote_self(priority: int) -> bool:
    """Give the calling thread real-time priority; what it becomes and what it starts inherit it."""
    return _set(0, priority)


def allowed() -> bool:
    """Whether this process may give real-time priority away: tried by a thread on itself."""
    with ThreadPoolExecutor(1) as one:
        return one.submit(lambda: _set(0, CLIENT_PRIORITY)).result()


def is_promoted(pid: int) -> bool:
    """Whether a living process has real-time priority; False when it is gone."""
    try:
        return os.sched_getscheduler(pid) == os.SCHED_RR
    except OSError:
        return False


def processes_below(pid: int) -> list[int]:
    """The process, its children, their children and so on (proc_pid_task_children(5)); without those that end now."""
    found, left = [], [pid]
    while left:
        current = left.pop()
        found.append(current)
        for task in Path(f"/proc/{current}/task").glob("*/children"):
            try:
                left += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found

"""Run work in a process whose descendants and whose folder are gone afterwards, however it ends.

A browser is a tree of processes that leave their parent's group, so killing that group, as a worker does with a client
that is past its limit, reaches none of them. Between the two stands a keeper: in a session of its own, so that it
outlives the group; a subreaper (prctl(2), PR_SET_CHILD_SUBREAPER), so that every orphan below comes to it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

PREFIX = "lb-chromium-"
"""Begins the name of the folder, in the folder for temporary files."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLEARING_S = 5.0
_LIBC = ctypes.CDLL(None, use_errno=True)


def run_kept(work: Callable[[str], int]) -> int:
    """The exit status of ``work``, which is given a new folder; 1 where a signal ended it.

    When this returns nothing is left of it. When this process is killed, its keeper ends the rest within moments.
    """
    folder = Path(tempfile.gettempdir()) / f"{PREFIX}{secrets.token_hex(8)}"
    here, alive = os.pipe()  # closed by the kernel when this process ends; no program that is started inherits it
    keeper = os.fork()
    if keeper == 0:
        os.close(alive)
        status = 1
        try:
            status = _keep(folder, here, work)
        finally:
            os._exit(status)
    os.close(here)
    _, ended = os.waitpid(keeper, 0)
    os.close(alive)
    return max(os.waitstatus_to_exitcode(ended), 0) if os.WIFEXITED(ended) else 1


def _keep(folder: Path, here: int, work: Callable[[str], int]) -> int:
    os.setsid()
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    worker = os.fork()
    if worker == 0:
        os.close(here)
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        status = 1
        try:
            folder.mkdir(mode=0o700)
            status = work(str(folder))
        except Exception:  # noqa: BLE001 - there is nobody above to tell
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    ended = os.pidfd_open(worker)
    poll = select.poll()
    for descriptor in (ended, here):
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
    poll.poll()
    status = 1
    found, raw = os.waitpid(worker, os.WNOHANG)
    if found:
        status = os.waitstatus_to_exitcode(raw) if os.WIFEXITED(raw) else 1
    _clear(folder)
    return status


def _clear(folder: Path) -> None:
    """Kill and reap every descendant, then remove the folder: a process that still ran could write into it anew."""
    limit = time.monotonic() + _CLEARING_S
    while _reap() and time.monotonic() < limit:
        for process in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.002)
    shutil.rmtree(folder, ignore_errors=True)


def _reap() -> bool:
    """Reap children that have ended; whether there are others."""
    with contextlib.suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return True
    return False


def _descendants(process: int) -> list[int]:
    found: list[int] = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            children = [int(number) for number in file.read_text().split()]
            found += [*children, *(below for child in children for below in _descendants(child))]
    return found

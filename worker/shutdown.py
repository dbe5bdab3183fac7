"""One flag for the whole worker: set in the parent on SIGTERM, seen by the child that measures.

Celery's warm shutdown waits for the running task and tells the child nothing; a cell may run for many minutes.
The child therefore ends the trial under way, hands the cell back, and another worker goes on with it.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import threading
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1  # linux/prctl.h

shutting_down = multiprocessing.get_context("fork").Event()


def watch(on_shutdown: Callable[[], None]) -> None:
    """Call ``on_shutdown`` from a thread once the flag is set."""

    def run() -> None:
        shutting_down.wait()
        on_shutdown()

    threading.Thread(target=run, name="shutdown-watch", daemon=True).start()


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies, so that kill -9 of a worker leaves nothing behind."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")

"""A testbed for as long as something needs one: a living one is used, else one is started and ended again."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from lastbyte.domain.errors import Unavailable
from testbed import state as states

EXIT_ALREADY_RUNNING = 75
"""Exit status of ``python -m testbed`` when another one runs for the same folder (EX_TEMPFAIL, sysexits.h)."""
EXIT_UNAVAILABLE = 69
"""Exit status of ``python -m testbed`` when it can't run here (EX_UNAVAILABLE); the reason is on stderr."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def running_testbed(var_dir: Path, timeout_s: float = 30.0) -> Iterator[states.TestbedState]:
    """Yield the testbed of ``var_dir``: the one that runs, else a new one that ends with the block.

    Raises Unavailable with the reason when none can be started.
    """
    if living := states.load(var_dir):
        yield living
        return
    process = subprocess.Popen(
        [sys.executable, "-m", "testbed", "--var", str(var_dir)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the caller, which then ends the testbed itself
        preexec_fn=_end_with_parent,  # noqa: PLW1509 - one prctl call
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
    )
    try:
        yield _wait(process, var_dir, timeout_s)
    finally:
        _end(process)


def _end_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


def _wait(process: subprocess.Popen[bytes], var_dir: Path, timeout_s: float) -> states.TestbedState:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if state := states.load(var_dir):
            return state
        if process.poll() not in (None, EXIT_ALREADY_RUNNING):
            said = process.stderr.read().decode(errors="replace").strip() if process.stderr else ""
            raise Unavailable(said or f"The testbed ended with status {process.returncode}.")
        time.sleep(0.02)
    raise Unavailable(f"The testbed did not become ready within {timeout_s:g} s; see {var_dir}/testbed/*/log.")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stderr:
        process.stderr.close()

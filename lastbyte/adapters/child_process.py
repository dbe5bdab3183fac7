"""One child process at a time: started cheaply, waited for without polling, ended for certain.

The harness may cost a trial a few milliseconds at most, so: no ``preexec_fn`` (the child is then made by vfork), output
into memory files (no pipe to drain, no thread), and the wait is on a pidfd (pidfd_open(2)), because
``Popen.wait(timeout)`` polls with delays that grow to 50 ms.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lastbyte.adapters import realtime

MAX_OUTPUT = 1 << 20
"""Bytes that are read of each output; what a client prints beyond that is no figure."""


DEATH_SIGNAL_LAUNCHER = "setpriv"
"""Makes the child die with its parent (setpriv(1), --pdeathsig), 0.7 ms; a killed worker's client would otherwise go
on and hold the namespace."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What a child left."""

    returncode: int
    """Exit status; the negative signal number when a signal ended it."""
    stdout: str
    stderr: str
    elapsed_s: float
    """From just before it was started to its end, in seconds."""
    killed: bool
    """True when it was still running at the limit."""
    interrupted: bool
    """True when ``ChildRunner.terminate`` ended it."""
    stdout_sha256: str | None = None
    """Digest of all that it wrote to stdout, where that was asked for and it ended with 0; ``stdout`` is empty then."""


class ChildRunner:
    """Runs children one after the other, each in a process group of its own that is gone when ``run`` returns."""

    def __init__(self) -> None:
        # Re-entrant, because terminate() may be called by a signal handler in the thread that is inside run().
        self._lock = threading.RLock()
        self._pid: int | None = None
        self._interrupted = False
        launcher = shutil.which(DEATH_SIGNAL_LAUNCHER)
        self._launcher = (launcher, "--pdeathsig", "KILL", "--") if launcher else ()

    def run(self, command: Sequence[str], env: Mapping[str, str], limit_s: float, *, digest: bool = False) -> Finished:
        """Run ``command``, its whole process group killed after ``limit_s``. Raises OSError when it can't start.

        ``digest``: its standard output is a body, to be digested once it has ended.

        To be called from a thread that lives as long as the run: the child dies with the thread that started it.
        """
        with contextlib.ExitStack() as stack:
            stdout, stderr = _memory_file(stack, "stdout"), _memory_file(stack, "stderr")
            self._interrupted = False
            started = time.monotonic()
            child = subprocess.Popen(
                [*self._launcher, *command],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=dict(env),
                start_new_session=True,
            )
            # Set while it is still its launcher, some milliseconds before the client itself begins.
            realtime.promote(child.pid, realtime.CLIENT_PRIORITY)
            killed = True
            try:
                with self._lock:
                    self._pid = child.pid
                killed = not _ends_within(child.pid, limit_s)
            finally:
                returncode = self._end(child)
            elapsed_s = time.monotonic() - started
            sha256 = _sha256(stdout) if digest and returncode == 0 else None
            text = "" if digest else _text(stdout)
            return Finished(returncode, text, _text(stderr), elapsed_s, killed, self._interrupted, sha256)

    def terminate(self) -> None:
        """End the child under way at once; ``run`` then returns. From any thread or a signal handler."""
        with self._lock:
            if self._pid is not None:
                self._interrupted = True
                _kill_group(self._pid)

    def _end(self, child: subprocess.Popen[bytes]) -> int:
        """Kill what is left of the group (on an exception the child too), then reap it."""
        with self._lock:
            _kill_group(child.pid)  # before reaping: until then the number can't belong to anyone else
            self._pid = None
            return child.wait()


def _memory_file(stack: contextlib.ExitStack, name: str) -> int:
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    return descriptor


def _ends_within(pid: int, limit_s: float) -> bool:
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(limit_s * 1000))
    finally:
        os.close(descriptor)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _sha256(descriptor: int) -> str:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text(descriptor: int) -> str:
    return os.pread(descriptor, MAX_OUTPUT, 0).decode("utf-8", "replace")

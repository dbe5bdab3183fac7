"""Starts child processes in order of need, keeps them alive, and ends every one of them, whatever happens.

It knows nothing of lastbyte: what the children are is said in ``lastbyte.embedded.system``. One thread, one loop.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from lastbyte.domain.errors import Unavailable
from lastbyte.embedded import keeper
from lastbyte.embedded.child import Child, Kept, StartFailed, State
from lastbyte.embedded.logs import rotate, tail

BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits before a child is started again; the last one repeats."""

STEADY_S = 30.0
"""A child that was ready for this long starts again with the shortest wait."""

FIRST_TRIES = 3
"""An essential child that ends this often before it was ever ready stops the whole start."""

SAME_WISH_S = 1.0
"""Signals within this time are one wish: sudo, timeout and make pass on what the terminal has sent already."""

_TICK_START_S = 0.01
_TICK_STEADY_S = 0.2
_ROTATE_EVERY_S = 10.0


class Supervisor:
    """Keeps ``children``; ``say`` gets one short line for each thing worth knowing."""

    def __init__(self, children: Sequence[Child], logs: Path, say: Callable[[str], None]) -> None:
        self._logs = logs
        self._say = say
        self._kept = {child.name: Kept(child, logs / f"{child.name}.log") for child in children}
        self._began = time.monotonic()
        self._rotated = self._began
        self._signals = 0
        self._signalled = 0.0
        self._keeper: subprocess.Popen[bytes] | None = None

    def run(self, when_up: Callable[[], object] = lambda: None, changed: Callable[[], object] = lambda: None) -> None:
        """Start all, call ``when_up`` once all that can start has, keep them until SIGINT, SIGTERM or SIGHUP, stop all.

        ``changed`` is called whenever a process comes or goes. Raises StartFailed after everything is stopped again.
        """
        self._logs.mkdir(parents=True, exist_ok=True)
        before = {
            sent: signal.signal(sent, self._note_signal) for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        self._start_keeper()
        up = False
        try:
            while not self._signals:
                processes = self.processes()
                for kept in self._kept.values():
                    self._step(kept)
                if self.processes() != processes:
                    changed()
                if not up and self._all_up():
                    up = True
                    when_up()
                self._rotate()
                time.sleep(_TICK_STEADY_S if up else _TICK_START_S)
            self._say("stopping ...")
        finally:
            self._stop_all()
            self._stop_keeper()
            changed()
            for sent, handler in before.items():
                signal.signal(sent, handler)

    def processes(self) -> dict[str, int]:
        """Process ids of the children that run now."""
        return {name: kept.process.pid for name, kept in self._kept.items() if kept.process is not None}

    @property
    def stopping(self) -> bool:
        """Whether someone asked for the end."""
        return self._signals > 0

    def is_ready(self, name: str) -> bool:
        """Whether a child runs and is ready, or is done."""
        return self._kept[name].state in (State.READY, State.DONE)

    def elapsed_s(self) -> float:
        """Seconds since this supervisor was made."""
        return time.monotonic() - self._began

    def _note_signal(self, _number: int, _frame: object) -> None:
        now = time.monotonic()
        if not self._signals or now - self._signalled > SAME_WISH_S:
            self._signals += 1
            self._signalled = now

    def _all_up(self) -> bool:
        return all(
            kept.state in (State.READY, State.DONE) or (not kept.child.essential and kept.reported)
            for kept in self._kept.values()
        )

    def _step(self, kept: Kept) -> None:
        """Bring one child forward by at most one state."""
        if kept.state is State.STARTING:
            self._follow_start(kept)
        elif kept.state is State.READY and (status := self._ended(kept)) is not None:
            if time.monotonic() - kept.since > STEADY_S:
                kept.failures = 0
            self._failed(kept, _ending(status))
        elif (kept.state is State.WAITING and all(self.is_ready(name) for name in kept.child.needs)) or (
            kept.state is State.RESTING and time.monotonic() - kept.since >= _back_off_s(kept.failures)
        ):
            self._start(kept)

    def _start(self, kept: Kept) -> None:
        child = kept.child
        try:
            child.prepare()
            command = child.command()
        except Unavailable as error:
            self._failed(kept, f"can't start: {error}")
            return
        with kept.log.open("ab") as output:
            kept.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **child.environment},
                start_new_session=True,
            )
        self._tell_keeper(f"+{kept.process.pid} {child.name}")
        kept.to(State.STARTING)

    def _follow_start(self, kept: Kept) -> None:
        if (status := self._ended(kept)) is not None:
            if kept.child.once and status == 0:
                self._became_ready(kept, State.DONE)
            else:
                self._failed(kept, _ending(status))
        elif not kept.child.once and (kept.child.ready is None or kept.child.ready()):
            try:
                kept.child.settle()
            except Unavailable as error:
                self._kill(kept)
                self._failed(kept, f"is of no use: {error}")
            else:
                self._became_ready(kept, State.READY)
        elif time.monotonic() - kept.since > kept.child.start_timeout_s:
            self._kill(kept)
            self._failed(kept, f"did not get ready in {kept.child.start_timeout_s:g} s")

    def _became_ready(self, kept: Kept, state: State) -> None:
        started = kept.since
        kept.to(state)
        if kept.was_ready or kept.reported:
            self._say(f"{kept.title} is back after {time.monotonic() - started:.1f} s")
        else:
            what = "done" if kept.child.once else "started" if kept.child.ready is None else "ready"
            self._say(f"{kept.title:<22} {what:<8} {self.elapsed_s():5.1f} s")
        kept.was_ready, kept.reported = True, False

    def _failed(self, kept: Kept, how: str) -> None:
        """A child that should run does not: try again later, say so, or give up the whole start."""
        kept.failures += 1
        tries = 1 if kept.child.once else FIRST_TRIES
        if kept.was_ready:
            self._say(f"{kept.title} {how}, starts again in {_back_off_s(kept.failures):g} s (see {kept.log})")
        elif kept.child.essential and kept.failures >= tries:
            end = tail(kept.log)
            raise StartFailed(f"{kept.title} {how.rstrip('.')}." + (f" The end of {kept.log}:\n{end}" if end else ""))
        elif kept.failures == tries:
            kept.reported = True
            reason = tail(kept.log, 1).strip() or how
            self._say(f"{kept.title} does not start, the rest goes on without it: {reason} (see {kept.log})")
        kept.to(State.RESTING)

    def _ended(self, kept: Kept) -> int | None:
        """Exit status of a child that has ended, its group cleared of stragglers; None while it runs.

        The group is killed while the child is still a zombie: until then its id can't be given to anyone else.
        """
        process = kept.process
        if process is None:
            return -signal.SIGKILL
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        _signal_group(process.pid, signal.SIGKILL)
        status = process.wait()
        self._tell_keeper(f"-{process.pid}")
        kept.process = None
        return status

    def _kill(self, kept: Kept) -> None:
        if kept.process is not None:
            _signal_group(kept.process.pid, signal.SIGKILL)
            kept.process.wait()
            self._tell_keeper(f"-{kept.process.pid}")
            kept.process = None

    def _stop_all(self) -> None:
        """Stop stage by stage, the highest first; a second signal kills what is left at once."""
        for stage in sorted({kept.child.stage for kept in self._kept.values()}, reverse=True):
            left = [kept for kept in self._kept.values() if kept.child.stage == stage and kept.process is not None]
            for kept in left:
                if kept.process is not None and self._ended(kept) is None:
                    kept.process.send_signal(kept.child.stop_signal)
            asked = time.monotonic()
            while left:
                left = [kept for kept in left if self._ended(kept) is None]
                for kept in left:
                    if self._signals > 1 or time.monotonic() - asked > kept.child.stop_timeout_s:
                        self._say(f"{kept.title} did not stop in time, killed")
                        self._kill(kept)
                left = [kept for kept in left if kept.process is not None]
                time.sleep(_TICK_START_S)

    def _rotate(self) -> None:
        if time.monotonic() - self._rotated > _ROTATE_EVERY_S:
            self._rotated = time.monotonic()
            for kept in self._kept.values():
                rotate(kept.log)

    def _start_keeper(self) -> None:
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", keeper.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _tell_keeper(self, line: str) -> None:
        pipe: IO[bytes] | None = self._keeper.stdin if self._keeper is not None else None
        if pipe is not None:
            try:
                pipe.write(f"{line}\n".encode())
                pipe.flush()
            except BrokenPipeError:
                self._start_keeper()
                for kept in self._kept.values():
                    if kept.process is not None:
                        self._tell_keeper(f"+{kept.process.pid} {kept.child.name}")

    def _stop_keeper(self) -> None:
        if self._keeper is not None and self._keeper.stdin is not None:
            self._keeper.stdin.close()
            self._keeper.wait()


def _back_off_s(failures: int) -> float:
    return BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1]


def _ending(status: int) -> str:
    return f"ended with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"


def _signal_group(group: int, sent: signal.Signals) -> None:
    try:
        os.killpg(group, sent)
    except ProcessLookupError:
        return

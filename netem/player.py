"""Playing a timeline: the box's qdiscs are changed while a trial runs, at times counted from the trial's start.

One thread per trial speaks over the box's own running tc, so a change costs a fraction of a millisecond whichever box
it is; how late each change came is kept, since a timeline that was played late is another timeline.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from lastbyte.adapters import realtime
from lastbyte.domain.errors import PathLost
from lastbyte.domain.profile import Profile
from lastbyte.domain.timeline import Played
from netem.tc import Command, Shape

Send = Callable[[Sequence[Command]], None]
"""Runs tc commands and returns when they have taken effect; raises OSError or PathLost."""


def changes(
    profile: Profile, shapes: Sequence[Shape], ports: Sequence[str], handle: int, seed: int | None = None
) -> Iterator[tuple[float, list[Command]]]:
    """(milliseconds since the start, tc commands) of each step; nothing without a timeline, endless if it repeats.

    With a ``seed`` each step has one of its own: a change sows netem's random numbers anew, and the same numbers again
    after each step would repeat the losses.
    """
    if profile.timeline is None:
        return
    resting = [shape.impairment for shape in shapes]
    now = list(resting)
    for number, (at_ms, step) in enumerate(profile.timeline.schedule(), start=1):
        commands: list[Command] = []
        for index, change in enumerate((step.downlink, step.uplink)):
            wanted = change.applied_to(resting[index])
            if wanted != now[index]:
                commands += shapes[index].change(ports[index], handle, wanted, None if seed is None else seed + number)
                now[index] = wanted
        yield at_ms, commands


class Player:
    """Plays from construction to ``stop``."""

    def __init__(self, steps: Iterator[tuple[float, list[Command]]], send: Send) -> None:
        self._steps = steps
        self._send = send
        self._late_ms: list[float] = []
        self._stop = threading.Event()
        self._start_s = time.perf_counter()
        self._thread = threading.Thread(target=self._run, name="timeline", daemon=True)
        self._thread.start()

    @property
    def late_ms(self) -> tuple[float, ...]:
        """How late each step so far had taken effect, in milliseconds."""
        return tuple(self._late_ms)

    def stop(self) -> Played:
        """End it and say what was played. May be called twice."""
        self._stop.set()
        self._thread.join()
        return Played(len(self._late_ms), max(self._late_ms, default=0.0))

    def _run(self) -> None:
        realtime.promote_self(realtime.BOX_PRIORITY)  # this thread alone: a step that is due waits for nobody
        for at_ms, commands in self._steps:
            due_s = self._start_s + at_ms / 1e3
            if self._stop.wait(max(0.0, due_s - time.perf_counter())):
                return
            try:
                self._send(commands)
            except (OSError, PathLost):  # the trial on this path finds out by itself
                return
            self._late_ms.append((time.perf_counter() - due_s) * 1e3)

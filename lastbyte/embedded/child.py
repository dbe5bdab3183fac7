"""What a supervised process is, and what the supervisor remembers of it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from lastbyte.domain.errors import Unavailable


class StartFailed(Unavailable):
    """A child without which nothing works does not start; the message holds the end of its log."""


@dataclass(frozen=True)
class Child:
    """One process to keep: how it is started, when it counts as ready, how it is stopped."""

    name: str
    command: Callable[[], Sequence[str]]
    """Made anew for every start; already tied to its parent (see ``tied_to_parent``)."""
    ready: Callable[[], bool] | None = None
    """Asked every few milliseconds until true; must return within a second. None: it counts as soon as it runs."""
    title: str = ""
    """What progress lines call it, for example ``postgres 18.4``; the name when empty."""
    prepare: Callable[[], object] = lambda: None
    """Run before every start."""
    settle: Callable[[], object] = lambda: None
    """Run once it is ready, before those who need it start."""
    needs: tuple[str, ...] = ()
    """Names of children that must be ready (or done) first."""
    environment: Mapping[str, str] = field(default_factory=dict)
    once: bool = False
    """A task that ends with status 0 and is then done, rather than a server."""
    essential: bool = True
    """False: when it does not start, the rest goes on without it."""
    stage: int = 0
    """Stopping order: the highest stage first, all of a stage together."""
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s: float = 4.0
    start_timeout_s: float = 180.0


class State(Enum):
    """Where a child stands."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    DONE = "done"
    RESTING = "resting"


@dataclass
class Kept:
    """What the supervisor remembers of a child."""

    child: Child
    log: Path
    state: State = State.WAITING
    process: subprocess.Popen[bytes] | None = None
    since: float = 0.0
    """When it came into its state, on the monotonic clock."""
    failures: int = 0
    """How often in a row it ended without being steady."""
    was_ready: bool = False
    reported: bool = False

    @property
    def title(self) -> str:
        """What progress lines call it."""
        return self.child.title or self.child.name

    def to(self, state: State) -> None:
        """Enter a state now."""
        self.state, self.since = state, time.monotonic()

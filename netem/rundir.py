"""Who owns what on this machine: a folder per open path, and numbered slots that give each path its own subnet.

Both name their owner by process id and start time, so a recycled process id is never mistaken for a living owner.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lastbyte.domain.errors import PathUnavailable

SLOTS = 1024
GUEST_FILE = "guest"
"""In a path's folder: the process of its guest, as "PID-START"."""
_counter = itertools.count()


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told apart from any later one with the same id."""

    pid: int
    start_time: int
    """Clock ticks since boot (/proc/PID/stat, field 22; proc(5))."""

    @classmethod
    def current(cls) -> Self:
        """This process."""
        pid = os.getpid()
        return cls(pid, start_time_of(pid) or 0)

    @property
    def is_alive(self) -> bool:
        """Whether that very process still runs."""
        return start_time_of(self.pid) == self.start_time

    def __str__(self) -> str:
        return f"{self.pid}-{self.start_time}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Owner from the first two numbers of "PID-START..." (or with underscores); None for other text."""
        parts = text.replace("_", "-").split("-")
        if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
            return None
        return cls(int(parts[0]), int(parts[1]))


def start_time_of(pid: int) -> int | None:
    """Start time of a running process in clock ticks since boot; None when there is none (zombies are not running)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def run_root() -> Path:
    """Folder of this machine's open paths: ``LASTBYTE_RUN``, else /run/lastbyte, else one below the temporary folder.

    It is shared by every process that opens paths, whatever its working directory, since slots must not collide.
    """
    configured = os.environ.get("LASTBYTE_RUN")
    candidates = [Path(configured)] if configured else [Path("/run/lastbyte")]
    if not configured:
        candidates.append(Path(os.environ.get("TMPDIR", "/tmp")) / f"lastbyte-{os.getuid()}")  # noqa: S108 - one folder for all processes
    for folder in candidates:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK | os.X_OK) and folder.stat().st_uid == os.getuid():
            return folder.absolute()
    raise PathUnavailable(f"No folder for running paths: {candidates[0]} can't be written. Set LASTBYTE_RUN.")


def make_run_dir(owner: Owner) -> Path:
    """A private folder for one path of this process."""
    folder = run_root() / "paths" / f"{owner}-{next(_counter)}"
    folder.mkdir(mode=0o700, parents=True)
    return folder


def run_dirs() -> Iterator[tuple[Path, Owner]]:
    """Every path folder with its owner."""
    paths = run_root() / "paths"
    for folder in sorted(paths.iterdir()) if paths.is_dir() else []:
        owner = Owner.parse(folder.name)
        if owner is not None:
            yield folder, owner


def remove_run_dir(folder: Path) -> None:
    """Remove a path folder with all it holds."""
    shutil.rmtree(folder, ignore_errors=True)


class Slot:
    """A number no other open path on this machine has; held by a file lock, so it is free when its owner dies."""

    def __init__(self, number: int, fd: int) -> None:
        self.number = number
        self._fd = fd

    @classmethod
    def take(cls) -> Self:
        """The lowest free slot; raises PathUnavailable when all are taken."""
        folder = run_root() / "slots"
        folder.mkdir(mode=0o700, exist_ok=True)
        for number in range(SLOTS):
            fd = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                continue
            return cls(number, fd)
        raise PathUnavailable(f"All {SLOTS} path slots are taken.")

    def release(self) -> None:
        """Give the number back. May be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

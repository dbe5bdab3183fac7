"""Small facts about processes and folders that the embedded services share; Linux only."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import stat
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lastbyte.domain.errors import Unavailable

SOCKET_PATH_LIMIT = 107
"""Longest path of a unix socket in bytes: ``sun_path`` holds 108 with its closing NUL, see unix(7)."""

_LONGEST_SOCKET_NAME = "/.s.PGSQL.5432"
LEFTOVER_WAIT_S = 10.0
"""How long a server that is closing may take before a new one over the same folder is refused."""

_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./-]+")


def tied_to_parent(argv: Sequence[str], death_signal: signal.Signals) -> list[str]:
    """``argv`` so that the kernel sends ``death_signal`` to it when its parent dies, see PR_SET_PDEATHSIG in prctl(2).

    Parent means the thread that started it: start such children from a thread that lives as long as they should.
    ``setpriv`` of util-linux does it, because a ``preexec_fn`` is unsafe in a program that has threads.
    """
    return ["setpriv", "--pdeathsig", death_signal.name.removeprefix("SIG"), "--", *argv]


def socket_folder(preferred: Path) -> Path:
    """A private folder (0700) for unix sockets: ``preferred``, or a short one with a stable name when that can't serve.

    It can't when the path is too long for a socket or holds characters that mean something in a URL or a list
    (PostgreSQL takes a comma in a host for a second host). The stand-in is named after ``preferred``, so every start
    over the same state finds the same sockets.
    """
    preferred = preferred.absolute()
    if fits_socket(preferred):
        return _private(preferred)
    runtime = Path(f"/run/user/{os.geteuid()}")
    base = runtime if os.access(runtime, os.W_OK) else Path(tempfile.gettempdir())
    if not fits_socket(base / "lastbyte-0123456789ab"):
        base = Path("/tmp")  # noqa: S108 - a 0700 folder whose owner is checked below
    digest = hashlib.sha256(os.fsencode(preferred)).hexdigest()[:12]
    return _private(base / f"lastbyte-{digest}")


def fits_socket(folder: Path) -> bool:
    """Whether sockets can lie in ``folder`` and be named in URLs as they are."""
    whole = f"{folder}{_LONGEST_SOCKET_NAME}.lock"
    return len(os.fsencode(whole)) <= SOCKET_PATH_LIMIT and _PLAIN_PATH.fullmatch(str(folder)) is not None


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Unavailable(f"{folder} must be a folder of user {os.geteuid()} and is not. Remove it, or use --var.")
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)
    return folder


def alive(pid: int) -> bool:
    """Whether a process with this id runs; one that has ended but is not yet collected (a zombie) does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] not in ("Z", "X")


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (field 22 of proc_pid_stat(5)): with the pid it is unique."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(state.rpartition(")")[2].split()[19])


def processes_in(folder: Path) -> list[int]:
    """Ids of the living processes whose working folder is ``folder``, as far as we may see them."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            here = (entry / "cwd").readlink() == folder
        except OSError:
            continue
        if here and alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def wait_until_left(folder: Path, server: str) -> None:
    """Return when no process works in ``folder`` any more; a server that stays there is somebody's, so say which."""
    deadline = time.monotonic() + LEFTOVER_WAIT_S
    while left := processes_in(folder):
        if time.monotonic() > deadline:
            raise Unavailable(
                f"Another {server} still works in {folder} (process {left[0]}). "
                f"Stop it (kill -INT {left[0]}), or use another folder with --var."
            )
        time.sleep(0.02)

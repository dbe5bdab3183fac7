"""Removing what a killed owner left behind.

The kernel removes nearly everything by itself (namespaces, interfaces, guests). What can be left is a firewall rule, a
forwarding setting, a folder. A sweep runs at each open, and a janitor process per path runs one as soon as its owner is
gone, however it went.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from lastbyte.domain.errors import PathUnavailable
from netem import nat
from netem.firewall import FIREWALLS
from netem.namespaces import CommandFailed, run
from netem.rundir import GUEST_FILE, Owner, remove_run_dir, run_dirs


def sweep() -> list[str]:
    """Remove leftovers of owners that are gone; returns what was removed, in words."""
    removed: list[str] = []
    for folder, owner in run_dirs():
        if owner.is_alive:
            continue
        if _kill_guest(folder):
            removed.append(f"guest of {owner}")
        remove_run_dir(folder)
        removed.append(f"folder {folder}")
    for name, owner in nat.owned_links():
        if not owner.is_alive:
            with contextlib.suppress(CommandFailed):
                run(["ip", "link", "del", name])
                removed.append(f"interface {name}")
    for firewall in FIREWALLS:
        for rules, owner in firewall.owned():
            if not owner.is_alive:
                firewall.drop(rules)
                removed.append(f"{firewall.kind} rules {rules}")
    nat.release_forwarding()
    return removed


def _kill_guest(folder: Path) -> bool:
    try:
        guest = Owner.parse((folder / GUEST_FILE).read_text(encoding="ascii"))
    except OSError:
        return False
    if guest is None or not guest.is_alive:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(guest.pid, signal.SIGKILL)
    return True


class Janitor:
    """A process that waits for its owner's end and then sweeps. Two small programs asleep, no Python until then."""

    def __init__(self, owner: Owner) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        try:
            self._process = subprocess.Popen(
                # cat ends when the last writer of its input, the owner, is gone.
                ["sh", "-c", 'cat > /dev/null; exec "$@"', "sh", sys.executable, "-m", "netem.sweep", str(owner)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )
        except OSError as exc:
            raise PathUnavailable(f"No process can be started: {exc}") from exc

    def dismiss(self) -> None:
        """The owner cleaned up by itself. May be called twice."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


def _main(arguments: list[str]) -> None:
    owner = Owner.parse(arguments[0]) if arguments else None
    deadline = time.monotonic() + 5.0
    while owner is not None and owner.is_alive and time.monotonic() < deadline:
        time.sleep(0.05)
    sweep()


if __name__ == "__main__":
    _main(sys.argv[1:])

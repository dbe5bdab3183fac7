"""The last net: when the supervisor is killed, end the process groups it leaves behind.

Each child is tied to the supervisor by PR_SET_PDEATHSIG, but a child's own children (Celery's pool, nginx's workers)
are not. This small process reads ``+PGID NAME`` and ``-PGID`` lines from the supervisor; the end of that pipe means
that the supervisor is gone, however it went. Run as a file with ``python -I``: standard library only, 15 ms.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable

GRACE_S = 5.0
"""What a server that saves its data gets before it is killed; the others have been killed by the kernel already."""


def groups_left(lines: Iterable[str]) -> set[int]:
    """Process groups that were announced and not taken back when the lines end."""
    left: set[int] = set()
    for line in lines:
        number = int(line[1:].split()[0])
        if line.startswith("+"):
            left.add(number)
        else:
            left.discard(number)
    return left


def _kill_group(group: int, sent: int) -> bool:
    try:
        os.killpg(group, sent)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Wait for the end of standard input, then end what is left."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    left = groups_left(sys.stdin)
    deadline = time.monotonic() + GRACE_S
    for group in left:
        _kill_group(group, signal.SIGTERM)
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = {group for group in left if _kill_group(group, 0)}
    for group in left:
        _kill_group(group, signal.SIGKILL)


if __name__ == "__main__":
    main()

"""Log files of child processes: plain files that the child appends to, kept small by copying and cutting."""

from __future__ import annotations

import shutil
from pathlib import Path

ROTATE_BYTES = 10_000_000
"""A log larger than this is moved to ``<name>.log.1``; so a child keeps at most twice this on disk."""


def rotate(log: Path, limit: int = ROTATE_BYTES) -> bool:
    """Copy a log that has outgrown ``limit`` to ``.1`` and cut it to nothing; True when it did.

    The child holds the file open in append mode, so after the cut it goes on at the start and never notices. Lines
    written between copy and cut are lost; in exchange no child can ever block on us, or die with us.
    """
    try:
        if log.stat().st_size <= limit:
            return False
        shutil.copyfile(log, log.with_name(log.name + ".1"))
        with log.open("r+b") as file:
            file.truncate(0)
    except FileNotFoundError:
        return False
    return True


def tail(log: Path, lines: int = 8) -> str:
    """The last lines of a log file; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])

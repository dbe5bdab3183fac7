"""Launch files: how a client that lastbyte installed is started, and which files make up its identity.

``<cache>/clients/<program>/launch.json``, written when the client is installed. A description names it in its
``executable`` list like a plain program.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lastbyte.settings import cache_dir


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start one installed program."""

    command: tuple[str, ...]
    """Arguments that start it: the executable, or a loader with its own library path and the executable."""
    files: tuple[str, ...]
    """Files whose digest identifies the build: the executable first, then the libraries it is run with."""
    origin: str = ""
    """Where it came from, with exact versions: lines appended to the program's own version text."""


def launch_file(program: str) -> Path:
    """Where the launch file of ``program`` lies."""
    return cache_dir() / "clients" / program / "launch.json"


def write_launch(file: Path, launch: Launch) -> None:
    """Write ``launch`` in one step, so that a reader sees the old one or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    document = {"command": launch.command, "files": launch.files, "origin": launch.origin}
    temporary.write_text(json.dumps(document, indent=1) + "\n")
    temporary.rename(file)


def read_launch(file: Path) -> Launch | None:
    """The launch in ``file``; None when it is missing, unreadable, or names files that are gone."""
    try:
        data = json.loads(file.read_text())
        launch = Launch(_strings(data["command"]), _strings(data["files"]), str(data["origin"]))
        there = launch.command and all(Path(name).is_file() for name in (launch.command[0], *launch.files))
    except (OSError, ValueError, KeyError, TypeError):  # a file in a folder that may not be entered is an OSError too
        return None
    return launch if there else None


def _strings(items: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(item) for item in items)

"""What the tests of Chromium share: where it is missing, and what it may have left."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lastbyte.adapters.executables import find_executable
from lastbyte.domain.client import Client

LIMIT_S = 90.0
"""For a browser on a busy machine."""


def skip_without_chromium(shipped: Mapping[str, Client]) -> None:
    if find_executable(shipped["chromium-h3"].executable) is None:
        pytest.skip("the client chromium is optional and not here; lastbyte clients install chromium")
    if shutil.which("chromium") is None:
        pytest.skip("no chromium on PATH; apt-get install chromium")


@contextlib.contextmanager
def short_folder() -> Iterator[Path]:
    """A folder for temporary files with a short name: Chromium makes a Unix socket below it, of 108 bytes (unix(7))."""
    with tempfile.TemporaryDirectory(prefix="lb-", dir="/tmp") as folder:
        yield Path(folder)


def keeping_in(client: Client, folder: Path) -> Client:
    """The same with a folder for temporary files that nothing else uses."""
    return dataclasses.replace(client, env={**client.env, "TMPDIR": str(folder)})


def await_nothing_left(netns: Path, folder: Path) -> None:
    left: list[object] = []
    for _ in range(200):
        left = [*browsers_in(netns), *folder.iterdir()]
        if not left:
            return
        time.sleep(0.1)
    pytest.fail(f"still there: {left}")


def browsers_in(netns: Path, holding: str = "") -> list[int]:
    """Processes of browsers in a network namespace whose command lines hold this text."""
    namespace, found = netns.stat().st_ino, []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            line = (process / "cmdline").read_bytes()
            if b"lb-chromium-" in line and holding.encode() in line and (process / "ns/net").stat().st_ino == namespace:
                found.append(int(process.name))
    return found

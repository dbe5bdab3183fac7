"""Where a client's program is, and which build it is."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lastbyte.adapters.launch import Launch, read_launch
from lastbyte.domain.client import Client, ClientBuild
from lastbyte.domain.errors import ClientUnavailable
from lastbyte.settings import cache_dir

_VERSION_TIMEOUT_S = 10.0

Signature = tuple[tuple[str, int, int, int], ...]
"""Path, inode, size and modification time of each file: changes when a build is replaced."""


@dataclass(frozen=True, slots=True)
class _Known:
    launch: Launch
    signature: Signature
    build: ClientBuild | None = None


def base_environment() -> dict[str, str]:
    """The environment of every client: nothing of the caller's, so no proxy, key log or locale slips in."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C",
        "HOME": "/nonexistent",
    }


def find_executable(places: Sequence[str]) -> Launch | None:
    """The first of ``places`` that is there: a path, a name on PATH, ``$VARIABLE`` or a launch file (``*.json``)."""
    for place in places:
        path = _expanded(place)
        if not path:
            continue
        if path.endswith(".json"):
            launch = read_launch(Path(path))
            if launch is not None:
                return launch
            continue
        found = shutil.which(path)
        if found:
            return Launch((found,), (str(Path(found).resolve()),))
    return None


def _expanded(place: str) -> str:
    if place.startswith("$"):
        return os.environ.get(place[1:], "")
    return str(Path(place.replace("{cache}", str(cache_dir()))).expanduser()) if "/" in place else place


class Executables:
    """Finds programs and identifies their builds; remembers both as long as the files stay the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], _Known] = {}

    def launch_of(self, client: Client) -> Launch:
        """How to start ``client``. Raises ClientUnavailable."""
        return self._lookup(client).launch

    def build_of(self, client: Client) -> ClientBuild:
        """The build of ``client``. Raises ClientUnavailable."""
        known = self._lookup(client)
        if known.build is None:
            build = ClientBuild(
                program=client.program,
                path=known.launch.files[0],
                version_text=_version_text(client, known.launch),
                sha256=digest(known.launch.files),
            )
            known = _Known(known.launch, known.signature, build)
            self._known[client.executable] = known
        return known.build or build

    def _lookup(self, client: Client) -> _Known:
        known = self._known.get(client.executable)
        if known is not None and _signature(known.launch.files) == known.signature:
            return known
        launch = find_executable(client.executable)
        if launch is None:
            self._known.pop(client.executable, None)
            raise ClientUnavailable(
                f"{client.program} is not installed (looked for {', '.join(client.executable)}). "
                "`lastbyte doctor` tells how to get it."
            )
        known = _Known(launch, _signature(launch.files))
        self._known[client.executable] = known
        return known


def _signature(files: Sequence[str]) -> Signature:
    try:
        stats = [(name, Path(name).stat()) for name in files]
    except OSError:
        return ()
    return tuple((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def digest(files: Sequence[str]) -> str:
    """SHA-256 of the one file; of several, of the lines that sha256sum(1) prints for their bare names."""
    sums = [(hashlib.sha256(Path(name).read_bytes()).hexdigest(), Path(name).name) for name in files]
    if len(sums) == 1:
        return sums[0][0]
    return hashlib.sha256("".join(f"{value}  {name}\n" for value, name in sums).encode()).hexdigest()


def _version_text(client: Client, launch: Launch) -> str:
    env: Mapping[str, str] = {**base_environment(), **client.env}
    try:
        done = subprocess.run(
            [*launch.command, *client.version_argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_VERSION_TIMEOUT_S,
            env=dict(env),
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ClientUnavailable(f"{client.program} ({launch.command[0]}) does not tell its version: {exc}.") from exc
    text = done.stdout.strip() or done.stderr.strip()
    if done.returncode < 0 or not text:
        raise ClientUnavailable(
            f"{client.program} ({launch.command[0]}) does not run: exit code {done.returncode}, "
            f"{text[:200] or 'no output'}."
        )
    return f"{text}\n{launch.origin}".strip()

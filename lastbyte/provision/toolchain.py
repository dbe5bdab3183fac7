"""What compiling curl-quiche takes: a C and C++ compiler, CMake, a recent Rust, and libclang for bindgen.

Compiler and CMake are the system's. Rust is taken from PATH or ~/.cargo when it is recent enough, else Debian sid's is
unpacked beside the system (Debian 12 and 13 ship 1.63 and 1.85). libclang is the PyPI wheel that
``clients/curl-quiche/requirements.txt`` pins by digest.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lastbyte.domain.errors import Unavailable
from lastbyte.provision.debian import Progress, unpacked
from lastbyte.settings import cache_dir

RUST_NEEDED = (1, 88)
"""``rust-version`` of quiche 0.30.0."""
_RUST_SUITE = "sid"
_RUST_PACKAGES = ("cargo", "rustc")

_DEBIAN_PACKAGE = {
    "cc": "gcc",
    "c++": "g++",
    "cmake": "cmake",
    "git": "git",
    "make": "make",
}
"""Program and the Debian package that brings it."""


@dataclass(frozen=True, slots=True)
class Rust:
    """A Rust toolchain to build with."""

    cargo: Path
    version: tuple[int, int]
    source: str
    """``path`` or ``debian sid``."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that this toolchain needs."""


def missing_build_packages() -> list[str]:
    """Debian packages that must be installed before curl-quiche can be compiled."""
    missing = [package for program, package in _DEBIAN_PACKAGE.items() if shutil.which(program) is None]
    if not _has_header("zlib.h"):
        missing.append("zlib1g-dev")
    return missing


def _has_header(name: str) -> bool:
    compiler = shutil.which("cc")
    if compiler is None:
        return Path("/usr/include", name).exists()
    done = subprocess.run(
        [compiler, "-E", "-x", "c", "-"], input=f"#include <{name}>\n", capture_output=True, text=True, check=False
    )
    return done.returncode == 0


def find_rust(progress: Progress) -> Rust:
    """A toolchain that can compile quiche; unpacks Debian sid's when this machine has none. Raises Unavailable."""
    seen: list[str] = []
    for cargo in _cargo_candidates():
        version = _rust_version(cargo)
        if version is not None and version >= RUST_NEEDED:
            return Rust(cargo, version, "path")
        seen.append(f"{cargo} ({'.'.join(map(str, version)) if version else 'does not run'})")
    wanted = ".".join(map(str, RUST_NEEDED))
    progress(f"no Rust {wanted} or newer here ({', '.join(seen) or 'none found'}); unpacking Debian {_RUST_SUITE}'s")
    try:
        return _unpacked_rust(progress)
    except Unavailable as exc:
        raise Unavailable(
            f"curl-quiche needs Rust {wanted} or newer to be compiled. Found: {', '.join(seen) or 'none'}; and Debian "
            f"{_RUST_SUITE}'s can't be used: {exc} Install a newer Rust (rustup, or any that puts cargo on PATH) and "
            "run lastbyte setup again."
        ) from exc


def _cargo_candidates() -> list[Path]:
    found = [os.environ.get("CARGO"), shutil.which("cargo"), str(Path.home() / ".cargo/bin/cargo")]
    return list(dict.fromkeys(Path(item) for item in found if item and Path(item).is_file()))


def _rust_version(cargo: Path, env: Mapping[str, str] | None = None) -> tuple[int, int] | None:
    try:
        done = subprocess.run(
            [str(cargo), "--version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
            env={**os.environ, **(env or {})},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"cargo (\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match and done.returncode == 0 else None


def _unpacked_rust(progress: Progress) -> Rust:
    tree = unpacked(_RUST_SUITE, _RUST_PACKAGES, "rust", progress)
    # rustc finds its libraries beside librustc_driver.so; started by another loader it must be told.
    wrapper = tree.path / "rustc-wrapper"
    if not wrapper.exists():
        command = [*tree.command("/usr/bin/rustc"), "--sysroot", str(tree.root / "usr")]
        temporary = wrapper.with_suffix(f".{os.getpid()}")
        temporary.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in command) + ' "$@"\n')
        temporary.chmod(0o755)
        temporary.rename(wrapper)
    env = {"RUSTC": str(wrapper)}
    cargo = tree.program("cargo")
    version = _rust_version(cargo, env)
    if version is None or version < RUST_NEEDED:
        raise Unavailable(f"cargo unpacked into {tree.path} does not run or is too old.")
    return Rust(cargo, version, f"debian {_RUST_SUITE}", env)


def fetch_libclang(requirements: Path, target: Path, log: Path) -> Path:
    """Install the pinned libclang into ``target`` and return the folder of libclang.so. Raises Unavailable.

    A libclang named by ``LIBCLANG_PATH`` is taken as it is.
    """
    configured = os.environ.get("LIBCLANG_PATH")
    if configured:
        return Path(configured)
    folder = target / "clang/native"
    try:
        install_wheels(requirements, target, log)
    except Unavailable as exc:
        raise Unavailable(
            f"{exc} Or install Debian's libclang-dev and set LIBCLANG_PATH to the folder of libclang.so. Then run: "
            "lastbyte setup"
        ) from exc
    if not folder.is_dir():
        raise Unavailable(f"The libclang that {requirements} pins has no {folder}.")
    return folder


def install_wheels(requirements: Path, target: Path, log: Path) -> None:
    """Install what ``requirements`` pins by digest into the folder ``target``. Raises Unavailable."""
    tried: list[str] = []
    for installer in _wheel_installers(target.with_name("pip")):
        arguments = ["--require-hashes", "--only-binary", ":all:", "--target", str(target), "-r", str(requirements)]
        with log.open("a") as out:
            done = subprocess.run([*installer, *arguments], stdout=out, stderr=subprocess.STDOUT, check=False)
        if done.returncode == 0:
            return
        tried.append(" ".join(installer[:3]))
    raise Unavailable(
        f"{requirements.name} of {requirements.parent.name} can't be installed from PyPI (tried: "
        f"{'; '.join(tried) or 'no uv, no pip'}; log: {log}). Check the network."
    )


def _wheel_installers(scratch: Path) -> Iterator[list[str]]:
    """Ways to install a wheel, best first; ``scratch`` is where an environment with pip of its own may be made."""
    bootstrapped = sorted(cache_dir().glob("uv-*/bin/uv"), reverse=True)  # the one that scripts/bootstrap keeps
    for uv in (os.environ.get("UV"), shutil.which("uv"), Path(sys.executable).with_name("uv"), *bootstrapped):
        if uv and Path(uv).is_file():
            yield [str(uv), "pip", "install", "--quiet", "--python", sys.executable]
            break
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if _has_pip(sys.executable):
        yield [sys.executable, *pip]
    made = subprocess.run([sys.executable, "-m", "venv", str(scratch)], capture_output=True, check=False)
    if made.returncode == 0:
        yield [str(scratch / "bin/python"), *pip]


def _has_pip(python: str) -> bool:
    return subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0

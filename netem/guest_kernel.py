"""A newer User-Mode Linux kernel and tc than the system has, for what only they know: netem's ``seed`` (from 6.6 on).

Debian's packages of a newer suite are unpacked, nothing is installed. The kernel's program wants a newer C library. It
can't be started through that library's loader by name, as other unpacked programs are: it finds its own memory by where
its heap begins, and a loader started first moves that. So a copy of the program names its loader by descriptor
(/proc/self/fd/N, short enough for the place the old name had), and a wrapper opens it there.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from lastbyte.domain.errors import PathUnavailable
from lastbyte.provision.debian import Progress, unpacked
from lastbyte.settings import cache_dir

SUITE = "trixie"
PACKAGES = ("user-mode-linux", "iproute2")
LOADER = b"/lib64/ld-linux-x86-64.so.2"
LOADER_FD = 199

_WRAPPER = """\
import os, sys
os.dup2(os.open({loader!r}, os.O_RDONLY), {fd})
os.environ["LD_LIBRARY_PATH"] = {libraries!r}
os.execv({program!r}, [{program!r}, *sys.argv[1:]])
"""


def fetched() -> Path | None:
    """The fetched kernel's program; None when none was fetched."""
    program = _folder() / "bin" / "linux.uml"
    return program if program.is_file() else None


def fetch(say: Progress) -> Path:
    """Fetch kernel, modules and tc of a newer Debian suite; the program that starts the kernel.

    Raises Unavailable when the archive can't be reached, PathUnavailable for a program it can't make start here.
    """
    tree = unpacked(SUITE, PACKAGES, "guest-kernel", say)
    libraries = tree.root / "usr/lib/x86_64-linux-gnu"
    image = (tree.root / "usr/bin/linux.uml").read_bytes()
    folder, fresh = _folder(), _folder().with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / "bin").mkdir(parents=True)
    (fresh / "lib").mkdir()
    (fresh / "lib/uml").symlink_to(tree.root / "usr/lib/uml")
    (fresh / "bin/kernel").write_bytes(with_loader_by_descriptor(image))
    (fresh / "bin/start.py").write_text(
        _WRAPPER.format(
            loader=str(libraries / "ld-linux-x86-64.so.2"),
            fd=LOADER_FD,
            libraries=str(libraries),
            program=str(folder / "bin/kernel"),
        ),
        encoding="utf-8",
    )
    start = shlex.join([sys.executable, "-I", "-S", str(folder / "bin/start.py")])
    (fresh / "bin/linux.uml").write_text(f'#!/bin/sh\nexec {start} "$@"\n', encoding="utf-8")
    (fresh / "bin/tc").symlink_to(tree.bin / "tc")
    for name in ("kernel", "linux.uml"):
        (fresh / "bin" / name).chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    return folder / "bin/linux.uml"


def with_loader_by_descriptor(image: bytes) -> bytes:
    """The program with the name of its loader (elf(5), PT_INTERP) replaced; raises PathUnavailable if it is another."""
    old = LOADER + b"\0"
    if image.count(old) != 1:
        raise PathUnavailable("The guest kernel's program is not built as expected; it can't be made to start here.")
    return image.replace(old, f"/proc/self/fd/{LOADER_FD}".encode().ljust(len(old), b"\0"))


def _folder() -> Path:
    return cache_dir() / "guest-kernel"

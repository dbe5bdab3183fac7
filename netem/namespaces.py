"""Anonymous network namespaces, held by a descriptor of this process alone (namespaces(7), network_namespaces(7)).

Nothing is written under /run/netns: when the owner dies, however it dies, the kernel closes the descriptor and removes
the namespace with every interface in it. The calling thread never changes its own namespace; work inside one is done
by a short-lived thread (setns(2) is per thread) or by a child process under nsenter(1).
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self, TypeVar

from lastbyte.domain.errors import PathUnavailable
from netem import ethtool

CLONE_NEWNET = 0x40000000
COMMAND_TIMEOUT_S = 10.0

_T = TypeVar("_T")
_libc = ctypes.CDLL(None, use_errno=True)


class CommandFailed(OSError):
    """A program that sets up the path answered with an error."""


def in_thread(function: Callable[[], _T]) -> _T:
    """Run in a thread of its own and hand back its result or its exception."""
    results: list[_T] = []
    errors: list[Exception] = []

    def body() -> None:
        try:
            results.append(function())
        except Exception as exc:  # noqa: BLE001 (raised again in the caller)
            errors.append(exc)

    thread = threading.Thread(target=body, name="netns", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _call(name: str, *arguments: int) -> None:
    # os.unshare and os.setns exist from Python 3.12 on; 3.11 is supported too.
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


class Namespace:
    """A network namespace this process can enter."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def create(cls) -> Self:
        """A new, empty namespace; raises PathUnavailable without CAP_SYS_ADMIN."""

        def unshare() -> int:
            _call("unshare", CLONE_NEWNET)
            return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

        try:
            namespace = cls(in_thread(unshare))
        except OSError as exc:
            raise PathUnavailable(
                f"No network namespace can be made here ({exc.strerror}): run as root or with CAP_SYS_ADMIN and "
                "CAP_NET_ADMIN (in a container: cap_add NET_ADMIN and SYS_ADMIN)."
            ) from exc
        namespace.ip("link set lo up")
        return namespace

    @classmethod
    def open(cls, path: str) -> Self:
        """An existing namespace by its file, such as /proc/PID/ns/net; raises OSError."""
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    @property
    def path(self) -> str:
        """A file by which other processes can name this namespace while it is open."""
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    @property
    def prefix(self) -> tuple[str, ...]:
        """Arguments that make a command run inside."""
        return ("nsenter", f"--net={self.path}", "--")

    def call(self, function: Callable[[], _T]) -> _T:
        """Run a function inside, in a thread of its own. Sockets it opens stay in this namespace."""

        def enter() -> _T:
            _call("setns", self._fd, CLONE_NEWNET)
            return function()

        return in_thread(enter)

    def run(self, *argv: str, stdin: str = "") -> str:
        """Run a program inside and return its output; raises CommandFailed with what it said."""
        return run([*self.prefix, *argv], stdin=stdin)

    def ip(self, *lines: str) -> None:
        """Run ip(8) commands inside, all in one process; raises CommandFailed."""
        self.run("ip", "-batch", "-", stdin="".join(f"{line}\n" for line in lines))

    def offloads_off(self, *devices: str, tx_checksum: bool = True) -> None:
        """Turn the offloads of interfaces inside off."""

        def work() -> None:
            for device in devices:
                ethtool.offloads_off(device, tx_checksum=tx_checksum)

        self.call(work)

    def sysctl(self, settings: Mapping[str, str], *, essential: bool = False) -> None:
        """Write /proc/sys values of this namespace, keys as paths below /proc/sys/net.

        Keys that this kernel does not have are passed over. Where /proc/sys is read-only (a container), a private
        remount is tried; if that fails too, ``essential`` decides whether PathUnavailable is raised.
        """
        try:
            self.call(lambda: set_sysctls(settings))
        except OSError as exc:
            if essential:
                raise PathUnavailable(
                    f"/proc/sys can't be written ({exc.strerror}), so packets can't be forwarded here. In a container "
                    "add security_opt systempaths=unconfined (Docker) or run it privileged."
                ) from exc

    def close(self) -> None:
        """Let go of the namespace; it vanishes with its last process. May be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


_REMOUNT_AND_WRITE = """\
mount -o remount,rw,bind /proc/sys || exit 1
while [ $# -gt 1 ]; do
    if [ -e "/proc/sys/net/$1" ]; then echo "$2" > "/proc/sys/net/$1" || exit 1; fi
    shift 2
done
"""


def set_sysctls(settings: Mapping[str, str]) -> None:
    """Write values below /proc/sys/net of the calling thread's namespace; missing keys are passed over.

    Where /proc/sys is read-only (a container), a private remount is tried. Raises OSError when that fails too.
    """
    try:
        _write_sysctls(settings)
    except OSError as exc:
        words = [text for pair in settings.items() for text in pair]
        try:
            run(["unshare", "--mount", "sh", "-c", _REMOUNT_AND_WRITE, "sh", *words])
        except CommandFailed:
            raise exc from None


def _write_sysctls(settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        file = Path("/proc/sys/net") / key
        if file.exists():
            file.write_text(value, encoding="ascii")


def tool_environment() -> dict[str, str]:
    """This process's environment with the folders of tc, ip and nft on PATH, which cron and plain users leave out."""
    return {**os.environ, "PATH": f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin"}


def run(argv: Sequence[str], *, stdin: str = "") -> str:
    """Run a program and return its output; raises CommandFailed with what it said, PathUnavailable if it is missing."""
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            env=tool_environment(),
        )
    except FileNotFoundError as exc:
        raise PathUnavailable(f"The program {argv[0]} is missing: install iproute2, util-linux and nftables.") from exc
    except subprocess.TimeoutExpired as exc:
        raise CommandFailed(f"{' '.join(argv)}: no answer within {COMMAND_TIMEOUT_S:g} s") from exc
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise CommandFailed(f"{' '.join(argv)}: exit code {done.returncode}: {said}")
    return done.stdout


def ipv6_here() -> bool:
    """Whether this kernel speaks IPv6 at all."""
    return Path("/proc/sys/net/ipv6").exists()

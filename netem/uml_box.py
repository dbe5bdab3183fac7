"""The ``uml`` box: netem of a User-Mode Linux guest (an ordinary process) that bridges two TAP devices."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path

from lastbyte.adapters import realtime
from lastbyte.domain.errors import PathLost, PathUnavailable
from netem import ethtool, guest_kernel, seed, uml_guest
from netem.box import INTERFACE, QUEUE_PACKETS, BoxStatus
from netem.console import TcConsole
from netem.namespaces import CommandFailed, Namespace, run, tool_environment
from netem.rundir import GUEST_FILE, Owner, start_time_of

BOOT_TIMEOUT_S = 20.0
MEMORY_FILE_BYTES = 96 * 2**20
"""Room the guest's memory file needs where TMPDIR points."""

_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_INSTALL = "Install it: apt-get install user-mode-linux iproute2 kmod."


def find_kernel() -> tuple[str, Path]:
    """The guest kernel's program and its module folder.

    LASTBYTE_UML names it; else it is the one that ``lastbyte path fetch-kernel`` brought, else the ``linux.uml`` on
    PATH. Modules are looked for beside it and in /usr/lib. Raises PathUnavailable.
    """
    program = os.environ.get("LASTBYTE_UML") or _fetched() or shutil.which("linux.uml")
    if not program or not os.access(program, os.X_OK):
        raise PathUnavailable(f"No User-Mode Linux kernel ({program or 'linux.uml'}) here. {_INSTALL}")
    try:
        version = run([program, "--version"]).strip()
    except OSError as exc:
        raise PathUnavailable(f"{program} does not run: {exc}. {_INSTALL}") from exc
    for prefix in (Path(program).resolve().parent.parent, Path("/usr")):
        folder = prefix / "lib" / "uml" / "modules" / version
        if (folder / "modules.dep").is_file():
            return program, folder
    raise PathUnavailable(f"The modules of User-Mode Linux {version} are missing. {_INSTALL}")


def _fetched() -> str | None:
    program = guest_kernel.fetched()
    return str(program) if program else None


def tc_of(program: str) -> str:
    """The tc that goes with a guest kernel: one that lies beside it, else the system's."""
    beside = Path(program).parent / "tc"
    return str(beside) if beside.exists() else "tc"


def status() -> BoxStatus:
    """Whether this kind can be had here, without booting a guest."""
    try:
        program, modules = find_kernel()
    except PathUnavailable as exc:
        return BoxStatus("uml", usable=False, version="", reason=str(exc))
    version = modules.name
    missing = [name for name in ("tc", "ip", "insmod", "nsenter", "unshare", "setpriv") if not _on_path(name)]
    if missing:
        reason = f"Missing programs: {', '.join(missing)}. Install them: apt-get install iproute2 kmod util-linux."
        return BoxStatus("uml", usable=False, version=version, reason=reason)
    try:
        namespace = Namespace.create()
        try:
            os.close(namespace.call(lambda: _open_tap("probe0")))
        finally:
            namespace.close()
    except (PathUnavailable, CommandFailed) as exc:
        return BoxStatus("uml", usable=False, version=version, reason=str(exc))
    except OSError as exc:
        reason = (
            f"/dev/net/tun can't be used ({exc.strerror}): load the tun module, or in a container add "
            "devices: [/dev/net/tun] and cap_add: [NET_ADMIN]."
        )
        return BoxStatus("uml", usable=False, version=version, reason=reason)
    knows_seed = seed.known_to(version, seed.tc_version(tc_of(program)))
    return BoxStatus("uml", usable=True, version=version, reason="netem of a User-Mode Linux guest", seed=knows_seed)


class UmlBox:
    """A booted guest. ``close`` kills it; so does the end of its owner, since its console then ends."""

    kind = "uml"
    ports = uml_guest.PORTS

    def __init__(self, client: Namespace, uplink: Namespace, run_dir: Path) -> None:
        program, modules = find_kernel()
        self.version = modules.name
        taps: list[int] = []
        try:
            for namespace in (client, uplink):
                taps.append(namespace.call(lambda: _open_tap(INTERFACE)))
                # Up before the guest opens its side, or its driver stays in an error state.
                namespace.ip(f"link set {INTERFACE} txqueuelen {QUEUE_PACKETS} up")
            self._process = _boot(program, modules, run_dir, (taps[0], taps[1]))
        except OSError as exc:
            raise PathUnavailable(f"The uml box can't be made: {exc}") from exc
        finally:
            # Only the guest keeps the TAPs: when it dies they vanish, and whoever sends gets an error at once.
            for fd in taps:
                os.close(fd)
        record_guest(run_dir, self._process.pid)
        if self._process.stdin is None or self._process.stdout is None:
            raise PathUnavailable("The guest has no console.")
        self.console = TcConsole(
            os.dup(self._process.stdin.fileno()), os.dup(self._process.stdout.fileno()), self._runs
        )
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            said = self.console.read_until(b"lastbyte-guest-", BOOT_TIMEOUT_S)
            said += self.console.read_until(b"\n", 1.0)
        except PathLost as exc:
            self.close()
            raise PathUnavailable(f"The User-Mode Linux guest did not boot. {exc}") from exc
        if not said.endswith(uml_guest.READY):
            self.close()
            raise PathUnavailable(f"The guest could not set itself up: {_tail(said)}")
        for pid in realtime.processes_below(self._process.pid):
            realtime.promote(pid, realtime.BOX_PRIORITY)

    def _runs(self) -> bool:
        return self._process.poll() is None

    def is_alive(self) -> bool:
        """False once the guest's process ended or its console broke off."""
        return self._process.poll() is None and not self.console.lost

    def close(self) -> None:
        """Kill the guest with all its processes; returns when they are gone."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        # What was killed is the guest's parent; the kernel then kills the guest and all in its process namespace.
        self.console.wait_end(2.0)
        self.console.close()


def record_guest(run_dir: Path, pid: int) -> None:
    """Note the guest's process, so that a later sweep can end it should it ever outlive its owner."""
    (run_dir / GUEST_FILE).write_text(str(Owner(pid, start_time_of(pid) or 0)), encoding="ascii")


def _boot(program: str, modules: Path, run_dir: Path, taps: tuple[int, int]) -> subprocess.Popen[bytes]:
    dependencies = uml_guest.parse_dependencies((modules / "modules.dep").read_text(encoding="utf-8"))
    order = [modules / file for file in uml_guest.load_order(uml_guest.MODULES, dependencies)]
    init_file = run_dir / "init"
    script = uml_guest.init_script(order, sys.executable, Path(ethtool.__file__).resolve(), tc_of(program))
    init_file.write_text(script, encoding="utf-8")
    argv = ["unshare", "--pid", "--fork", "--kill-child=KILL", program]
    if threading.current_thread() is threading.main_thread():
        # Belt and braces beside the console's end. PDEATHSIG means the death of the *thread* that forked
        # (prctl(2)), so a thread that may end before the path does must not set it.
        argv = ["setpriv", "--pdeathsig", "KILL", *argv]
    argv += uml_guest.kernel_arguments(init_file, run_dir / "uml", taps)
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=taps,
        # A Ctrl-C at the terminal is for the owner, which then closes the path in order.
        start_new_session=True,
        env={**tool_environment(), "TMPDIR": str(memory_folder(run_dir)), "HOME": str(run_dir)},
    )


def memory_folder(fallback: Path) -> Path:
    """Where the guest's memory file may lie: it is mapped executable, so not on a noexec mount."""
    for folder in (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp")):  # noqa: S108 (an unlinked file of its own)
        try:
            state = os.statvfs(folder)
        except OSError:
            continue
        room = state.f_bavail * state.f_frsize
        if not state.f_flag & os.ST_NOEXEC and room >= MEMORY_FILE_BYTES and os.access(folder, os.W_OK):
            return folder
    return fallback


def _open_tap(name: str) -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        # Without IFF_VNET_HDR the kernel resolves offloads and hands over MTU-sized frames.
        fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    except OSError:
        os.close(fd)
        raise
    return fd


def _on_path(name: str) -> bool:
    return shutil.which(name, path=tool_environment()["PATH"]) is not None


def _tail(output: bytes) -> str:
    return " / ".join(output.decode(errors="replace").strip().splitlines()[-6:])

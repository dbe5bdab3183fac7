"""Programs inside a User-Mode Linux guest whose kernel has netem, where this machine's may not: for the ``kernel`` box.

The guest sees this machine's files read-only (hostfs) with fresh tmpfs on /run and /dev/shm (not on /tmp: the checkout
may lie there); namespaces, veths and bridges are made in it just as on any Linux.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lastbyte.adapters import realtime
from netem import uml_guest
from netem.uml_box import find_kernel, memory_folder

ROOT = Path(__file__).resolve().parents[1]
MODULES = ("bridge", "sch_netem", "sch_tbf", "veth", "tun", "dummy")
MEMORY_MB = 512
_EXIT = "guest-exit-code"


@dataclass(frozen=True, slots=True)
class GuestResult:
    """How the program in the guest ended."""

    exit_code: int | None
    """The program's; None when the guest ended without one."""
    lines: list[str]
    elapsed_s: float


def run_in_guest(
    folder: Path,
    command: Sequence[str],
    timeout_s: float,
    show: Callable[[str], None],
    *,
    modules: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    at_once: bool = False,
) -> GuestResult:
    """Boot a guest, run one program in the checkout there, hand on each line it prints, end the guest.

    ``folder``: an empty one of this machine. ``modules`` are loaded besides those of a path. ``at_once``: the
    guest runs before this machine's ordinary processes (sched(7), SCHED_RR). Raises PathUnavailable without a guest
    kernel.
    """
    program, modules_dir = find_kernel()
    table = uml_guest.parse_dependencies((modules_dir / "modules.dep").read_text(encoding="utf-8"))
    order = [modules_dir / file for file in uml_guest.load_order([*MODULES, *modules], table)]
    init = folder / "guest-init"
    init.write_text(_script(order, command, environment or {}), encoding="utf-8")
    argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child=KILL", str(program)]
    argv += [f"mem={MEMORY_MB}M", "rootfstype=hostfs", "ro", "quiet", "loglevel=1", "panic=-1"]
    argv += ["con=null", "con0=fd:0,fd:1", f"uml_dir={folder / 'uml'}", "umid=program", "init=/bin/sh", "--", str(init)]
    start = time.monotonic()
    lines: list[str] = []
    exit_code: int | None = None
    with subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, "TMPDIR": str(memory_folder(folder))},
    ) as process:
        if at_once:
            realtime.promote(process.pid, realtime.BOX_PRIORITY)  # before it has started the guest, which inherits it
        killer = subprocess.Popen(["sh", "-c", f"sleep {timeout_s:g}; kill -9 {process.pid}"], start_new_session=True)
        try:
            for raw in process.stdout or ():
                line = raw.rstrip("\r\n")
                if line.startswith(_EXIT):
                    exit_code = int(line.split()[1])
                    break
                lines.append(line)
                show(line)
        finally:
            process.kill()
            os.killpg(killer.pid, 9)
            killer.wait()
    return GuestResult(exit_code, lines, time.monotonic() - start)


def _script(modules: Sequence[Path], command: Sequence[str], environment: Mapping[str, str]) -> str:
    inserts = "\n".join(f"insmod {shlex.quote(str(module))}" for module in modules)
    settings = {
        "HOME": "/dev/shm",  # noqa: S108 - the guest's own
        "TMPDIR": "/dev/shm",  # noqa: S108
        "LASTBYTE_BOX": "kernel",
        "LASTBYTE_IN_GUEST": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TERM": "dumb",
        "PATH": f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
        **environment,
    }
    exports = "\n".join(f"export {key}={shlex.quote(value)}" for key, value in settings.items())
    return f"""\
{exports}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
for folder in /run /dev/shm; do mkdir -p $folder; mount -t tmpfs tmpfs $folder; done
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
stty -onlcr
{inserts}
ip link set lo up
cd {shlex.quote(str(ROOT))}
{shlex.join(command)} < /dev/null
echo "{_EXIT} $?"
sleep 60
"""

"""Running pytest inside a User-Mode Linux guest, whose kernel has netem where this machine's may not.

The guest sees this machine's files read-only (hostfs) with fresh tmpfs on /run and /dev/shm (not on /tmp: the checkout
may lie there); namespaces, veths and bridges are made in it just as on any Linux.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netem import uml_guest
from netem.uml_box import find_kernel, memory_folder

ROOT = Path(__file__).resolve().parents[3]
MODULES = ("bridge", "sch_netem", "sch_tbf", "veth", "tun", "dummy")
MEMORY_MB = 512
_EXIT = "guest-tests-exit-code"


@dataclass(frozen=True, slots=True)
class GuestResult:
    exit_code: int | None
    """pytest's; None when the guest ended without one."""
    passed: int
    skipped: int
    output: str
    elapsed_s: float


def script(modules: Sequence[Path], arguments: Sequence[str]) -> str:
    inserts = "\n".join(f"insmod {shlex.quote(str(module))}" for module in modules)
    environment = {
        "HOME": "/dev/shm",
        "TMPDIR": "/dev/shm",
        "LASTBYTE_BOX": "kernel",
        "LASTBYTE_IN_GUEST": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Reading every plugin's code through hostfs takes seconds.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PATH": f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
    }
    exports = "\n".join(f"export {key}={shlex.quote(value)}" for key, value in environment.items())
    command = shlex.join(
        [sys.executable, "-m", "pytest", "-p", "pytest_timeout", "-p", "no:cacheprovider", "--color=no", *arguments]
    )
    return f"""\
{exports}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
for folder in /run /dev/shm; do mkdir -p $folder; mount -t tmpfs tmpfs $folder; done
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
{inserts}
ip link set lo up
cd {shlex.quote(str(ROOT))}
{command} < /dev/null
echo "{_EXIT} $?"
sleep 60
"""


def run_pytest(folder: Path, arguments: Sequence[str], timeout_s: float, show: Callable[[str], None]) -> GuestResult:
    """Boot a guest, run pytest in it, hand on each line of output, end the guest."""
    program, modules = find_kernel()
    table = uml_guest.parse_dependencies((modules / "modules.dep").read_text(encoding="utf-8"))
    order = [modules / file for file in uml_guest.load_order(MODULES, table)]
    init = folder / "guest-init"
    init.write_text(script(order, arguments), encoding="utf-8")
    argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child=KILL", program]
    argv += [f"mem={MEMORY_MB}M", "rootfstype=hostfs", "ro", "quiet", "loglevel=1", "panic=-1"]
    argv += ["con=null", "con0=fd:0,fd:1", f"uml_dir={folder / 'uml'}", "umid=tests", "init=/bin/sh", "--", str(init)]
    environment = {**os.environ, "TMPDIR": str(memory_folder(folder))}
    start = time.monotonic()
    lines: list[str] = []
    exit_code: int | None = None
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace", env=environment
    ) as process:
        killer = subprocess.Popen(["sh", "-c", f"sleep {timeout_s:g}; kill -9 {process.pid}"], start_new_session=True)
        try:
            assert process.stdout is not None
            for raw in process.stdout:
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
    output = "\n".join(lines)
    summary = next((line for line in reversed(lines) if re.search(r"\d+ (passed|failed|error)", line)), "")
    return GuestResult(
        exit_code, _count(summary, "passed"), _count(summary, "skipped"), output, time.monotonic() - start
    )


def _count(summary: str, word: str) -> int:
    found = re.search(rf"(\d+) {word}", summary)
    return int(found[1]) if found else 0

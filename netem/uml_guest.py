"""What a User-Mode Linux guest is booted with: kernel arguments, init script, modules. Pure.

The guest sees the host's files read-only through hostfs and runs the host's own tc, so its netem understands the very
arguments the ``kernel`` box uses.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from netem.console import TC_ARGUMENTS

READY = b"lastbyte-guest-ready\n"
FAILED = "lastbyte-guest-failed"
MODULES = ("bridge", "sch_netem", "sch_tbf", "dummy", "sch_taprio")
MEMORY_MB = 64
BEAT_NS = 1_000_000
"""How often the guest wakes, in nanoseconds, whatever else happens.

User-Mode Linux looks for work, then sleeps until a signal (os_idle_sleep, arch/um/os-Linux/time.c). A packet that comes
between the two has spent its signal and lies in the TAP until the next one: the timer of the packet before it, some
20 ms later. Without a beat that befell 3 % of those that came 50 us behind another. The timer of a schedule of gates
(tc-taprio(8)) on an interface that nothing is sent through is the cheapest that was found: 4 % of one CPU.
"""
PORTS = ("vec0", "vec1")
"""Client side, uplink side."""


def parse_dependencies(text: str) -> dict[str, tuple[str, list[str]]]:
    """Module name -> (file, files it needs) from a modules.dep (depmod(8))."""
    table: dict[str, tuple[str, list[str]]] = {}
    for line in text.splitlines():
        file, colon, needs = line.partition(":")
        if colon:
            table[module_name(file)] = (file, needs.split())
    return table


def module_name(file: str) -> str:
    """``kernel/net/sched/sch_netem.ko.xz`` -> ``sch_netem``."""
    return file.rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def load_order(names: Sequence[str], dependencies: Mapping[str, tuple[str, list[str]]]) -> list[str]:
    """Files to insert, each after those it needs; a name that is not listed is built in and passed over."""
    order: list[str] = []
    for name in names:
        if name in dependencies:
            file, needs = dependencies[name]
            # depmod lists the direct need first and the deepest last.
            order += [item for item in [*reversed(needs), file] if item not in order]
    return order


def init_script(modules: Sequence[Path], python: str, ethtool_file: Path, tc: str = "tc") -> str:
    """The guest's first program: bridge the two ports, start the beat, say READY, become tc."""
    inserts = "\n".join(f"insmod {shlex.quote(str(module))}" for module in modules)
    schedule = "num_tc 2 map 0 1 queues 1@0 1@1 base-time 0 clockid CLOCK_MONOTONIC"
    schedule += "".join(f" sched-entry S {gate:02} {BEAT_NS}" for gate in (1, 2))
    beat = f"{shlex.quote(tc)} qdisc replace dev beat0 root taprio {schedule}"
    return f"""\
set -e
trap 'echo {FAILED}' EXIT
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
stty -echo -onlcr
{inserts}
# IPv6 is there because bridge needs its symbols; the guest itself must never speak.
for key in all default; do echo 1 > /proc/sys/net/ipv6/conf/$key/disable_ipv6; done
ip -batch - <<END
link set lo up
link add bridge0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
link set {PORTS[0]} master bridge0
link set {PORTS[1]} master bridge0
link set {PORTS[0]} up
link set {PORTS[1]} up
link set bridge0 up
END
# The beat (BEAT_NS); a guest whose kernel has no such schedule does without.
ip link add beat0 numtxqueues 2 type dummy && ip link set beat0 up && {beat} || true
{shlex.quote(python)} -I -S {shlex.quote(str(ethtool_file))} {PORTS[0]} {PORTS[1]}
trap - EXIT
echo {READY.decode().strip()}
exec {shlex.join([tc, *TC_ARGUMENTS[1:]])} 2>&1
"""


def kernel_arguments(init_file: Path, uml_dir: Path, fds: tuple[int, int]) -> list[str]:
    """Arguments of linux.uml: console on standard input and output, both ports on TAP descriptors.

    ``vec=0``: a TAP descriptor is no socket, so the driver's recvmmsg would fail on it.
    """
    return [
        f"mem={MEMORY_MB}M",
        "rootfstype=hostfs",
        "ro",
        "quiet",
        "loglevel=1",
        "panic=-1",
        "con=null",
        "con0=fd:0,fd:1",
        *(f"{port}:transport=fd,fd={fd},vec=0,depth=128" for port, fd in zip(PORTS, fds, strict=True)),
        f"uml_dir={uml_dir}",
        "umid=guest",
        # Not init=FILE: /run is often mounted noexec, and a shell only reads the script.
        "init=/bin/sh",
        "--",
        str(init_file),
    ]

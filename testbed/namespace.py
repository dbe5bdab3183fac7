"""The testbed's network namespace: anonymous, with every address on its loopback interface.

Anonymous means that nothing is written to /run/netns: the namespace lives as long as a process is in it, and goes with
the last one, together with the veths that paths put into it (network_namespaces(7)).
"""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lastbyte.domain.errors import Unavailable
from testbed.catalogue import addresses

_CLONE_NEWNET = 0x40000000
_STATED = (
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
)
"""Settings that results depend on. The buffer limits belong to the whole host: stated here, not changed."""


def enter_new_namespace() -> None:
    """Move the calling process, which must have one thread, into a fresh network namespace (unshare(2))."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        if code == errno.EPERM:
            raise Unavailable(
                "The testbed needs a network namespace of its own and may not make one. "
                "Run as root, or with the capabilities SYS_ADMIN and NET_ADMIN."
            )
        raise Unavailable(f"No network namespace can be made: {os.strerror(code)}.")


def has_ipv6() -> bool:
    """Whether this namespace can hold IPv6 addresses."""
    return Path("/proc/sys/net/ipv6/conf/lo").is_dir()


def configure(*, with_ipv6: bool) -> None:
    """Bring loopback up with every testbed address on it, and set what trials must not inherit from one another."""
    if with_ipv6:
        for interface in ("all", "lo", "default"):
            _write(f"net.ipv6.conf.{interface}.disable_ipv6", "0")
    batch = ["link set lo up"]
    batch += [
        f"addr add {address}/128 dev lo nodad" if ":" in address else f"addr add {address}/32 dev lo"
        for address in addresses(with_ipv6=with_ipv6)
    ]
    try:
        done = subprocess.run(
            ["ip", "-batch", "-"], input="\n".join(batch) + "\n", capture_output=True, text=True, check=False
        )
    except FileNotFoundError as exc:
        raise Unavailable("The program ip is not here. Run: apt-get install iproute2") from exc
    if done.returncode != 0:
        raise Unavailable(f"The testbed's addresses can't be set: {done.stderr.strip()[-300:]}")
    # A cached RTT or window of one trial would help the next one: trials are independent (ip-tcp_metrics(8)).
    _write("net.ipv4.tcp_no_metrics_save", "1")
    for interface in ("all", "default"):
        _write(f"net.ipv4.conf.{interface}.rp_filter", "0")


def available_congestion_controls() -> tuple[str, ...]:
    """Names of the TCP congestion controls that this namespace's sockets may choose."""
    return tuple(_read("net.ipv4.tcp_available_congestion_control").split())


def default_congestion_control() -> str:
    """TCP congestion control of sockets that choose none."""
    return _read("net.ipv4.tcp_congestion_control")


def stated_sysctls() -> Mapping[str, str]:
    """Kernel settings of this namespace that results depend on, by their sysctl name."""
    return {name: value for name in _STATED if (value := _read(name))}


def _path(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")


def _read(name: str) -> str:
    try:
        return " ".join(_path(name).read_text().split())
    except OSError:
        return ""  # not every kernel shows every setting inside a namespace


def _write(name: str, value: str) -> None:
    if _read(name) == value:
        return
    try:
        _path(name).write_text(value)
    except OSError as exc:
        raise Unavailable(f"{name} can't be set to {value} in the testbed's namespace: {exc}.") from exc

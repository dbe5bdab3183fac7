"""The ``kernel`` box: a namespace with a bridge between two veths, shaped by this kernel's own netem."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import tty

from lastbyte.adapters import realtime
from lastbyte.domain.errors import PathUnavailable
from netem import seed
from netem.box import INTERFACE, QUEUE_PACKETS, QUIET_SYSCTLS, BoxStatus
from netem.console import TC_ARGUMENTS, TcConsole
from netem.namespaces import CommandFailed, Namespace, tool_environment

_PORTS = ("port0", "port1")
_SYSCTLS = {
    **QUIET_SYSCTLS,
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    # Where br_netfilter is loaded, a host's firewall would otherwise see and drop bridged packets.
    "bridge/bridge-nf-call-iptables": "0",
    "bridge/bridge-nf-call-ip6tables": "0",
    "bridge/bridge-nf-call-arptables": "0",
}


def status() -> BoxStatus:
    """Whether this kernel has netem: tried in a namespace of its own, not guessed."""
    version = platform.release()
    try:
        namespace = Namespace.create()
    except (PathUnavailable, CommandFailed) as exc:
        return BoxStatus("kernel", usable=False, version=version, reason=str(exc))
    try:
        namespace.run("tc", "qdisc", "add", "dev", "lo", "root", "netem", "limit", "10")
    except PathUnavailable as exc:
        return BoxStatus("kernel", usable=False, version=version, reason=str(exc))
    except CommandFailed:
        reason = (
            "This kernel has no sch_netem: install linux-modules-extra of this kernel, or modprobe sch_netem on the "
            "host; the uml box needs neither."
        )
        return BoxStatus("kernel", usable=False, version=version, reason=reason)
    finally:
        namespace.close()
    knows_seed = seed.known_to(version, seed.tc_version())
    return BoxStatus("kernel", usable=True, version=version, reason="sch_netem of this kernel", seed=knows_seed)


class KernelBox:
    """A bridge namespace and the tc that serves it."""

    kind = "kernel"
    ports = _PORTS

    def __init__(self, client: Namespace, uplink: Namespace) -> None:
        self.version = platform.release()
        with contextlib.ExitStack() as undo:
            self._namespace = Namespace.create()
            undo.callback(self._namespace.close)
            try:
                self._namespace.sysctl(_SYSCTLS)
                self._plug(client, uplink)
            except CommandFailed as exc:
                raise PathUnavailable(f"The kernel box can't be made: {exc}") from exc
            self._process, self.console = self._start_tc()
            undo.pop_all()

    def _plug(self, client: Namespace, uplink: Namespace) -> None:
        bridge = "link add bridge0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
        self._namespace.ip(bridge, "link set bridge0 up")
        for namespace, port in zip((client, uplink), _PORTS, strict=True):
            # Born in their places: no interface ever shows up on the host.
            self._namespace.ip(
                f"link add {port} type veth peer name {INTERFACE} netns {namespace.path}",
                f"link set {port} txqueuelen {QUEUE_PACKETS} master bridge0 up",
            )
            namespace.ip(f"link set {INTERFACE} txqueuelen {QUEUE_PACKETS} up")
            namespace.offloads_off(INTERFACE)
        self._namespace.offloads_off(*_PORTS, "bridge0", tx_checksum=False)

    def _start_tc(self) -> tuple[subprocess.Popen[bytes], TcConsole]:
        # A terminal for its output, as in the guest: into a pipe tc would keep answers back until its buffer is full.
        reader, terminal = os.openpty()
        try:
            tty.setraw(terminal)
            process = subprocess.Popen(
                [*self._namespace.prefix, *TC_ARGUMENTS],
                stdin=subprocess.PIPE,
                stdout=terminal,
                stderr=terminal,
                env=tool_environment(),
                start_new_session=True,
            )
        except OSError as exc:
            os.close(reader)
            raise PathUnavailable(f"tc can't be started: {exc}. Install iproute2.") from exc
        finally:
            os.close(terminal)
        if process.stdin is None:
            raise PathUnavailable("tc has no input.")
        realtime.promote(process.pid, realtime.BOX_PRIORITY)  # it carries out a timeline's steps
        writer = os.dup(process.stdin.fileno())
        process.stdin.close()
        return process, TcConsole(writer, reader, lambda: process.poll() is None)

    def is_alive(self) -> bool:
        """False once its tc ended or its console broke off."""
        return self._process.poll() is None and not self.console.lost

    def close(self) -> None:
        """End tc and remove bridge and veths. May be called twice."""
        self.console.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._namespace.close()

"""The box: a bridge between client and uplink with a netem qdisc on each of its two ports.

Two kinds, one behaviour: ``kernel`` (this kernel's own netem) and ``uml`` (that of a User-Mode Linux guest).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netem.console import TcConsole

INTERFACE = "path0"
"""Name of the interface towards the box, in the client's namespace and in the uplink's."""

QUEUE_PACKETS = 10_000
"""txqueuelen towards the box. The only queue that may overflow is netem's own."""

QUIET_SYSCTLS = {
    # No router solicitations, no duplicate address detection, no link-local addresses: nothing but the measured
    # traffic may cross the box.
    **{
        f"ipv6/conf/{key}/{name}": value
        for key in ("all", "default")
        for name, value in (
            ("accept_ra", "0"),
            ("autoconf", "0"),
            ("dad_transmits", "0"),
            ("accept_dad", "0"),
            ("router_solicitations", "0"),
            ("addr_gen_mode", "1"),
        )
    },
    # A trial must not start with what TCP learnt from the trial before it (tcp(7): ssthresh, RTT per destination).
    "ipv4/tcp_no_metrics_save": "1",
}


class Box(Protocol):
    """A running box."""

    @property
    def kind(self) -> str:
        """``kernel`` or ``uml``."""

    @property
    def version(self) -> str:
        """Version of the kernel whose netem it is."""

    @property
    def ports(self) -> tuple[str, str]:
        """Devices inside: the one towards the client (its qdisc shapes the downlink), the one towards the uplink."""

    @property
    def console(self) -> TcConsole:
        """Its tc."""

    def is_alive(self) -> bool:
        """False once its process ended."""

    def close(self) -> None:
        """End it and remove its interfaces. May be called twice."""


@dataclass(frozen=True, slots=True)
class BoxStatus:
    """Whether a kind of box can be had here."""

    kind: str
    usable: bool
    version: str
    """Kernel version, or empty."""
    reason: str
    """Why not, and how to get it; or a word on what it is."""
    seed: bool = False
    """Whether, by the versions of kernel and tc, netem's random numbers can be fixed; an open path knows for sure."""

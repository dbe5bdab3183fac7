"""A shaped path: client namespace, box, uplink namespace; ``lastbyte.ports.Path``."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network
from typing import Self

from lastbyte.domain.errors import PathLost, PathUnavailable
from lastbyte.domain.link_probe import LinkProbe
from lastbyte.domain.profile import Profile
from lastbyte.domain.timeline import Played
from lastbyte.ports import CounterSnapshot, RttProbe
from netem import ethtool, tc
from netem.addresses import Plan, free_base, plan
from netem.box import INTERFACE, QUIET_SYSCTLS, Box
from netem.console import TcFailed
from netem.icmp import Pinger
from netem.namespaces import Namespace, ipv6_here
from netem.nat import host_networks
from netem.packet_tap import PacketTap
from netem.player import Player, changes
from netem.quick_probe import quick_probe
from netem.readback import differences
from netem.rundir import Owner, Slot, make_run_dir, remove_run_dir
from netem.sweep import Janitor, sweep
from netem.traffic import End
from netem.uplinks import Uplink, make_router

_MAX_HANDLE = tc.CLEARING_HANDLE - 1


class ShapedPath:
    """Open from construction to ``close``. One trial at a time; not to be shared with a forked child.

    ``make_box`` gets the client's and the uplink's namespace and the path's own folder.
    """

    def __init__(self, make_box: Callable[[Namespace, Namespace, str], Box], uplinks: Sequence[Uplink]) -> None:
        self._profile = Profile("")
        self._base_rtt_ms = 0.0
        self._seed: int | None = None
        self._handle = 0
        self._player: Player | None = None
        self._open = False
        sweep()
        with contextlib.ExitStack() as stack:
            owner = Owner.current()
            janitor = Janitor(owner)
            stack.callback(janitor.dismiss)
            run_dir = make_run_dir(owner)
            stack.callback(remove_run_dir, run_dir)
            slot = Slot.take()
            stack.callback(slot.release)
            self.client = Namespace.create()
            stack.callback(self.client.close)
            self.uplink = Namespace.create()
            stack.callback(self.uplink.close)
            self.addresses: Plan = plan(slot.number, _base_network())
            try:
                self.client.sysctl(QUIET_SYSCTLS)
                self.uplink.sysctl(QUIET_SYSCTLS)
                self.box: Box = make_box(self.client, self.uplink, str(run_dir))
                stack.callback(self.box.close)
                self._address()
                if uplinks:
                    make_router(self.uplink)
                self._pinger = Pinger(self.client, self.addresses.access.far)
                stack.callback(self._pinger.close)
                snmp = ["/proc/thread-self/net/snmp", "/proc/thread-self/net/snmp6"]
                # These files keep showing the namespace of the thread that opened them.
                self._snmp_fds = self.client.call(
                    lambda: [os.open(file, os.O_RDONLY | os.O_CLOEXEC) for file in snmp if os.path.exists(file)]  # noqa: PTH110
                )
                for fd in self._snmp_fds:
                    stack.callback(os.close, fd)
            except OSError as exc:
                raise PathUnavailable(f"The path can't be set up: {exc}") from exc
            self._uplinks: list[Uplink] = []
            for uplink in uplinks:
                stack.callback(uplink.close)
                uplink.attach(self.uplink, self.addresses, owner)
                self._uplinks.append(uplink)
            self.seed_supported = self._try_seed()
            stack.callback(self._end_player)
            self._stack = stack.pop_all()
            self._open = True

    def _address(self) -> None:
        """Addresses, permanent neighbours (a lost ARP request would cost a trial a second), default routes."""
        link = self.addresses.access
        ends = ((self.client, link.near, link.near6), (self.uplink, link.far, link.far6))
        macs = [namespace.call(lambda: ethtool.mac_address(INTERFACE)) for namespace, _, _ in ends]
        for index, (namespace, address, address6) in enumerate(ends):
            _, other, other6 = ends[1 - index]
            neighbour = f"lladdr {macs[1 - index]} dev {INTERFACE} nud permanent"
            lines = [
                f"addr add {address}/{link.network.prefixlen} dev {INTERFACE}",
                f"neigh replace {other} {neighbour}",
            ]
            if ipv6_here():
                lines += [
                    f"addr add {address6}/{link.network6.prefixlen} dev {INTERFACE} nodad",
                    f"neigh replace {other6} {neighbour}",
                ]
            if namespace is self.client:
                lines.append(f"route add default via {other} dev {INTERFACE}")
                if ipv6_here():
                    lines.append(f"route add default via {other6} dev {INTERFACE}")
            namespace.ip(*lines)
            namespace.offloads_off(INTERFACE)

    @property
    def box_kind(self) -> str:
        """``kernel`` or ``uml``."""
        return self.box.kind

    @property
    def box_version(self) -> str:
        """Version of the kernel whose netem shapes."""
        return self.box.version

    def configure(self, profile: Profile, base_rtt_ms: float = 0.0, seed: int | None = None) -> None:
        """Shape by ``profile`` plus half of ``base_rtt_ms`` in each direction, and check what was set.

        Counters start at zero again. ``seed`` fixes netem's random numbers where ``seed_supported``, else it is passed
        over. Raises PathLost when the box is gone or did not do as told.
        """
        self._require_open()
        profile.validate()
        self._end_player()
        old, self._profile, self._base_rtt_ms = self._profile, profile, base_rtt_ms
        self._handle = self._handle % _MAX_HANDLE + 1
        self._seed = seed if self.seed_supported else None
        clear = _duplicates(old) or _duplicates(profile)
        commands: list[tc.Command] = []
        for port, shape in zip(self.box.ports, self._shapes(), strict=True):
            commands += [tc.clearing_command(port)] if clear else []
            commands += shape.commands(port, self._handle, self._seed)
        self._set(commands)

    def reseed(self, seed: int) -> bool:
        """Begin netem's random numbers anew from ``seed``, the same for each arm of a round; counters go on.

        False, and nothing done, where the box's netem has no seed. Raises PathLost.
        """
        self._require_open()
        if not self.seed_supported:
            return False
        self._end_player()
        self._seed = seed
        self._set(self._at_rest())
        return True

    def start_timeline(self) -> None:
        """Begin to play the profile's timeline, now; nothing to do without one."""
        self._require_open()
        self._end_player()
        if self._profile.timeline is not None:
            steps = changes(self._profile, self._shapes(), self.box.ports, self._handle, self._seed)
            self._player = Player(steps, self.box.console.run)

    def stop_timeline(self) -> Played | None:
        """End the timeline and put the profile back as it is at rest; None when none was played.

        Counters go on. Raises PathLost when the box is gone or did not do as told.
        """
        played = self._end_player()
        if played is not None:
            self._require_open()
            self._set(self._at_rest())
        return played

    def _end_player(self) -> Played | None:
        player, self._player = self._player, None
        return player.stop() if player else None

    def _shapes(self) -> tuple[tc.Shape, tc.Shape]:
        return tc.shapes_of(self._profile, self._base_rtt_ms)

    def _at_rest(self) -> list[tc.Command]:
        commands: list[tc.Command] = []
        for port, shape in zip(self.box.ports, self._shapes(), strict=True):
            commands += shape.change(port, self._handle, shape.impairment, self._seed)
        return commands

    def _set(self, commands: list[tc.Command]) -> None:
        name = self._profile.name
        try:
            state = self.box.console.configure(commands)
        except TcFailed as exc:
            raise PathLost(f"The box refused profile {name}: {exc}") from exc
        for port, shape in zip(self.box.ports, self._shapes(), strict=True):
            known = port in state
            wrong = differences(state[port], self._handle, shape, seed=self._seed) if known else ["no such port"]
            if wrong:
                raise PathLost(f"The box did not take profile {name} on {port}: {'; '.join(wrong)}")

    def _try_seed(self) -> bool:
        """Whether the box's kernel and tc know netem's seed (both from 6.6 on): asked, not guessed."""
        port = self.box.ports[0]
        asked = ["qdisc", "replace", "dev", port, "root", "handle", "1:", "netem", "limit", "1000", "seed", "1"]
        try:
            state = self.box.console.configure([asked])
        except TcFailed:
            return False
        self._handle = 1
        return port in state and state[port].options.get("seed") == 1

    def command_prefix(self) -> tuple[str, ...]:
        """Arguments that make a command run in the client's namespace."""
        self._require_open()
        return self.client.prefix

    def probe_rtt(self, count: int, interval_s: float) -> RttProbe:
        """Echo requests from the client to the far side of the box; raises PathLost."""
        self._require_open()
        requested_ms, spread_ms = self._profile.extra_rtt_ms + self._base_rtt_ms, self._profile.rtt_spread_ms
        timeout_s = 0.25 + (2 * requested_ms + 4 * spread_ms) / 1e3
        echoes = self._pinger.ping(count, interval_s, timeout_s, self.box.is_alive)
        return RttProbe(requested_ms, echoes.samples_ms, echoes.lost)

    def probe_link(self) -> LinkProbe:
        """Rate and loss of both directions in a moment (``netem.quick_probe``); raises PathLost."""
        self._require_open()
        link = self.addresses.access
        ends = End(self.client, link.near), End(self.uplink, link.far)
        return quick_probe(*ends, self._profile, self._base_rtt_ms, self.box.is_alive)

    def counters(self) -> CounterSnapshot:
        """Both qdiscs' counters since ``configure`` and the client's UDP receive buffer errors; raises PathLost."""
        self._require_open()
        state = self.box.console.qdiscs()
        try:
            downlink, uplink = (state[port].counters for port in self.box.ports)
        except KeyError as exc:
            raise PathLost(f"The box lost its port {exc}.") from exc
        errors = sum(udp_rcvbuf_errors(os.pread(fd, 65536, 0).decode()) for fd in self._snmp_fds)
        return CounterSnapshot(downlink, uplink, errors)

    def tap(self, limit_bytes: int) -> PacketTap:
        """See the client's packets while the block runs; raises PathLost, or OSError when there is no packet socket."""
        self._require_open()
        return PacketTap(self.client, limit_bytes)

    def is_alive(self) -> bool:
        """True while the box runs and what the uplink leads to is there."""
        return self._open and self.box.is_alive() and all(uplink.is_alive() for uplink in self._uplinks)

    def close(self) -> None:
        """Remove all that was made; may be called twice."""
        if self._open:
            self._open = False
            self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _require_open(self) -> None:
        if not self._open:
            raise PathLost("The path is closed.")


def _duplicates(profile: Profile) -> bool:
    return profile.downlink.duplicate_pct > 0 or profile.uplink.duplicate_pct > 0


def _base_network() -> IPv4Network:
    base = free_base(host_networks())
    if base is None:
        raise PathUnavailable("No private network is free for paths: the host has routes to all candidates.")
    return base


def udp_rcvbuf_errors(text: str) -> int:
    """UDP datagrams dropped for want of receive buffer, from /proc/net/snmp or snmp6 (proc(5))."""
    lines = [line.split() for line in text.splitlines()]
    for names, values in itertools.pairwise(lines):
        if names[:1] == ["Udp:"] == values[:1] and "RcvbufErrors" in names:
            return int(values[names.index("RcvbufErrors")])
    return sum(int(line[1]) for line in lines if len(line) == 2 and line[0] == "Udp6RcvbufErrors")

"""The uplink to the Internet: a veth to the namespace of this process and masquerading there (``netem.firewall``).

What is changed on the host: one veth and one set of rules per path, both named after their owner, and forwarding on
the interfaces concerned only. The values that forwarding had are kept in a file and put back when the last path is
closed, by the last owner or, if it was killed, by a sweep.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from pathlib import Path

from lastbyte.domain.errors import PathUnavailable
from netem.addresses import Plan
from netem.firewall import LINK_PREFIX, masquerade, owned_name, owner_of
from netem.namespaces import CommandFailed, Namespace, ipv6_here, run, set_sysctls
from netem.rundir import Owner, run_root


def host_egress(family: int) -> list[str]:
    """Interfaces that carry this namespace's default routes, for family 4 or 6."""
    try:
        rows = json.loads(run(["ip", f"-{family}", "-j", "route", "show", "default"]) or "[]")
    except (CommandFailed, PathUnavailable):
        return []
    return list(dict.fromkeys(str(row["dev"]) for row in rows if "dev" in row))


def host_networks() -> list[IPv4Network]:
    """IPv4 networks this namespace has routes to."""
    try:
        rows = json.loads(run(["ip", "-4", "-j", "route", "show", "table", "all"]) or "[]")
    except (CommandFailed, PathUnavailable):
        return []
    # Routes of open paths are no obstacle: slots keep those apart.
    texts = [row["dst"] for row in rows if not str(row.get("dev", "")).startswith(LINK_PREFIX)]
    networks = [ip_network(text, strict=False) for text in texts if text != "default"]
    return [network for network in networks if isinstance(network, IPv4Network)]


class NatUplink:
    """A veth to the host with masquerading; IPv6 too where the host has it."""

    def __init__(self) -> None:
        self._undo = contextlib.ExitStack()
        self._link = ""

    def attach(self, uplink: Namespace, plan: Plan, owner: Owner) -> None:
        """Plug in; raises PathUnavailable when the host has no default route or can't masquerade."""
        egress = {family: devices for family in (4, 6) if (devices := host_egress(family))}
        if not ipv6_here():
            egress.pop(6, None)
        if not egress:
            raise PathUnavailable("This machine has no default route, so there is no way to the Internet.")
        link, near, far = f"{LINK_PREFIX}{plan.slot}", plan.host.near, plan.host.far
        try:
            _drop_host_link(link)
            uplink.ip("link add nat0 type veth peer name nat1", "link set nat0 up")
            uplink.ip(f"link set nat1 netns {os.getpid()} name {link}")
            self._undo.callback(_drop_host_link, link)
            _host_ip(f"link set {link} alias {owned_name(owner, plan.slot)}")
            uplink.offloads_off("nat0", tx_checksum=False)
            if 4 in egress:
                _host_ip(
                    f"addr add {far}/{plan.host.network.prefixlen} dev {link}",
                    f"link set {link} up",
                    f"route replace {plan.access.network} via {near} dev {link}",
                )
                uplink.ip(
                    f"addr add {near}/{plan.host.network.prefixlen} dev nat0",
                    f"route replace default via {far} dev nat0",
                )
            if 6 in egress:
                length6 = plan.host.network6.prefixlen
                _host_ip(
                    f"link set {link} up",
                    f"addr add {plan.host.far6}/{length6} dev {link} nodad",
                    f"route replace {plan.access.network6} via {plan.host.near6} dev {link}",
                )
                uplink.ip(
                    f"addr add {plan.host.near6}/{length6} dev nat0 nodad",
                    f"route replace default via {plan.host.far6} dev nat0",
                )
            user = f"{owner}-{plan.slot}"
            changed = claim_forwarding(user, link, egress)
            self._undo.callback(release_forwarding, user)
            name = owned_name(owner, plan.slot)
            rules = masquerade(name, link, plan, {family: changed.get(family, []) for family in egress})
            self._undo.callback(rules.drop, name)
        except OSError as exc:
            self.close()
            raise PathUnavailable(f"The way to the Internet can't be opened: {exc}") from exc
        except PathUnavailable:
            self.close()
            raise
        self._link = link

    def is_alive(self) -> bool:
        """False when the host's end of the veth is gone."""
        return bool(self._link) and Path(f"/proc/sys/net/ipv4/conf/{self._link}").exists()

    def close(self) -> None:
        """Remove rules and veth, put forwarding back. May be called twice."""
        self._undo.close()


@dataclass(slots=True)
class _Forwarding:
    """Who needs forwarding, and what it was before anyone did."""

    users: list[str]
    before: dict[str, str]
    """/proc/sys/net key -> former value."""


def claim_forwarding(user: str, link: str, egress: dict[int, list[str]]) -> dict[int, list[str]]:
    """Turn forwarding on where needed; returns, by family, the interfaces that did not forward before."""
    wanted: dict[int, dict[str, dict[str, str]]] = {}
    if 4 in egress:
        wanted[4] = {device: {f"ipv4/conf/{device}/forwarding": "1"} for device in [*egress[4], link]}
    if 6 in egress:
        wanted[6] = {device: _forwarding6(device) for device in [*egress[6], link]}
    with _forwarding_state() as state:
        changed: dict[int, list[str]] = {}
        for family, devices in wanted.items():
            for device, settings in devices.items():
                former = {key: value for key in settings if (value := _read(key)) is not None}
                if device != link:
                    if any(state.before.get(key, former[key]) != settings[key] for key in former):
                        changed.setdefault(family, []).append(device)
                    state.before = {**{k: v for k, v in former.items() if v != settings[k]}, **state.before}
                _write(settings)
        state.users.append(user)
    return changed


def release_forwarding(user: str | None = None) -> None:
    """Drop a user, and all whose owner is gone; the last one out puts the former values back."""
    if not _state_file().exists():
        return
    with _forwarding_state() as state:
        state.users = [item for item in state.users if item != user and (owner := Owner.parse(item)) and owner.is_alive]
        if not state.users and state.before:
            _write({key: value for key, value in state.before.items() if _read(key) is not None})
            state.before = {}


def owned_links() -> Iterator[tuple[str, Owner]]:
    """(interface, owner) of every host interface a path of lastbyte made."""
    try:
        rows = json.loads(run(["ip", "-j", "link", "show"]))
    except (CommandFailed, PathUnavailable, json.JSONDecodeError):
        return
    for row in rows:
        owner = owner_of(str(row.get("ifalias", "")))
        if owner is not None and str(row["ifname"]).startswith(LINK_PREFIX):
            yield str(row["ifname"]), owner


def _forwarding6(device: str) -> dict[str, str]:
    if _read("ipv6/conf/all/forwarding") == "1":  # a router already, as a container that was given that setting
        return {}
    if _read(f"ipv6/conf/{device}/force_forwarding") is not None:  # Linux 6.17 on: per interface
        return {f"ipv6/conf/{device}/force_forwarding": "1"}
    # Older kernels know one switch for all. A router ignores router advertisements unless accept_ra is 2,
    # and the host would lose its own default route (ip-sysctl, accept_ra).
    settings = {"ipv6/conf/all/forwarding": "1"}
    if _read(f"ipv6/conf/{device}/accept_ra") == "1":
        settings = {f"ipv6/conf/{device}/accept_ra": "2", **settings}
    return settings


def _state_file() -> Path:
    """One per network namespace that plays the host, since settings belong to it."""
    return run_root() / f"nat-{Path('/proc/self/ns/net').stat().st_ino}.json"


@contextlib.contextmanager
def _forwarding_state() -> Iterator[_Forwarding]:
    with (run_root() / "nat.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = _state_file()
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            state = _Forwarding(list(document["users"]), dict(document["before"]))
        except (OSError, ValueError, KeyError):
            state = _Forwarding([], {})
        yield state
        if state.users or state.before:
            temporary = file.with_suffix(".new")
            temporary.write_text(json.dumps({"users": state.users, "before": state.before}), encoding="utf-8")
            temporary.replace(file)
        else:
            file.unlink(missing_ok=True)


def _read(key: str) -> str | None:
    try:
        return (Path("/proc/sys/net") / key).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _write(settings: dict[str, str]) -> None:
    needed = {key: value for key, value in settings.items() if _read(key) not in (None, value)}
    try:
        set_sysctls(needed)
    except OSError as exc:
        raise PathUnavailable(
            f"Forwarding can't be turned on here ({exc.strerror}). In a container add security_opt "
            "systempaths=unconfined (Docker) or set sysctls net.ipv4.ip_forward=1."
        ) from exc


def _host_ip(*lines: str) -> None:
    run(["ip", "-batch", "-"], stdin="".join(f"{line}\n" for line in lines))


def _drop_host_link(name: str) -> None:
    with contextlib.suppress(CommandFailed):
        run(["ip", "link", "del", name])

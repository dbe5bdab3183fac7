"""Masquerading on the host, one set of rules per path: nft(8), or iptables(8) where the kernel has no nftables.

Either way the rules say: what comes from the path leaves under the host's address, answers come back in, and nothing
else. Interfaces made to forward for our sake forward nothing else that is new, so the host does not become a router.
(Connections a host's own rules redirect, such as published container ports, pass.) All bear the name of their owner,
so that a sweep finds what a killed one left.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lastbyte.domain.errors import PathUnavailable
from netem.addresses import Plan
from netem.namespaces import CommandFailed, run
from netem.rundir import Owner

OWNED_PREFIX = "lastbyte_"
LINK_PREFIX = "lbn"
Strangers = Mapping[int, Sequence[str]]
"""By family (4, 6): interfaces that did not forward before. A family that is missing is not masqueraded."""


def owned_name(owner: Owner, slot: int) -> str:
    """Name of a path's rules; a sweep reads the owner back from it."""
    return f"{OWNED_PREFIX}{owner.pid}_{owner.start_time}_{slot}"


def owner_of(name: str) -> Owner | None:
    """The owner that a name of ours tells; None for another's name."""
    return Owner.parse(name.removeprefix(OWNED_PREFIX)) if name.startswith(OWNED_PREFIX) else None


class Firewall(Protocol):
    """One program that can masquerade."""

    kind: str

    def masquerade(self, name: str, link: str, plan: Plan, strangers: Strangers) -> None:
        """Set the rules of one path up; raises PathUnavailable or CommandFailed, with nothing left behind."""

    def drop(self, name: str) -> None:
        """Remove the rules of one path, if they are there."""

    def owned(self) -> Iterator[tuple[str, Owner]]:
        """(name, owner) of every path's rules."""


class NfTables:
    """One table per path and family."""

    kind = "nft"

    def masquerade(self, name: str, link: str, plan: Plan, strangers: Strangers) -> None:
        """All in one transaction."""
        run(["nft", "-f", "-"], stdin=nft_rules(name, link, plan, strangers))

    def drop(self, name: str) -> None:
        """Both families."""
        for family in ("ip", "ip6"):
            with contextlib.suppress(CommandFailed, PathUnavailable):
                run(["nft", "delete", "table", family, name])

    def owned(self) -> Iterator[tuple[str, Owner]]:
        """From ``nft list tables``; nothing where there is no nft."""
        try:
            listing = json.loads(run(["nft", "-j", "list", "tables"]))
        except (CommandFailed, PathUnavailable, json.JSONDecodeError):
            return
        names = {str(row.get("table", {}).get("name", "")) for row in listing.get("nftables", [])}
        for name in sorted(names):
            if owner := owner_of(name):
                yield name, owner


class IpTables:
    """Rules in the tables ``nat`` and ``filter``, each with the path's name as its comment."""

    kind = "iptables"
    _PROGRAMS: Mapping[int, tuple[str, str]] = {
        4: ("iptables", "ip_tables_names"),
        6: ("ip6tables", "ip6_tables_names"),
    }

    def masquerade(self, name: str, link: str, plan: Plan, strangers: Strangers) -> None:
        """One transaction per family."""
        try:
            for family, devices in strangers.items():
                self._restore(family, iptables_rules(family, name, link, plan, devices))
        except (CommandFailed, PathUnavailable):
            self.drop(name)
            raise

    def drop(self, name: str) -> None:
        """By the comments in what is set."""
        for family in self._PROGRAMS:
            if text := iptables_removal(self._saved(family), name):
                with contextlib.suppress(CommandFailed, PathUnavailable):
                    self._restore(family, text)

    def owned(self) -> Iterator[tuple[str, Owner]]:
        """From the comments in what is set."""
        words = [word for family in self._PROGRAMS for word in self._saved(family).split()]
        for name in sorted({word.strip('"') for word in words}):
            if owner := owner_of(name):
                yield name, owner

    def _restore(self, family: int, text: str) -> None:
        # The one program behind all names; "iptables" may well be the variant that speaks to nftables.
        run(["xtables-legacy-multi", f"{self._PROGRAMS[family][0]}-restore", "--noflush"], stdin=text)

    def _saved(self, family: int) -> str:
        program, tables = self._PROGRAMS[family]
        # Names the tables in use; asking iptables itself would load its modules.
        if not Path(f"/proc/self/net/{tables}").exists():
            return ""
        try:
            return run(["xtables-legacy-multi", f"{program}-save"])
        except (CommandFailed, PathUnavailable):
            return ""


FIREWALLS: tuple[Firewall, ...] = (NfTables(), IpTables())


def masquerade(name: str, link: str, plan: Plan, strangers: Strangers) -> Firewall:
    """Set the rules up by the first program that can; raises PathUnavailable with what each of them said."""
    said: list[str] = []
    for firewall in FIREWALLS:
        try:
            firewall.masquerade(name, link, plan, strangers)
        except (CommandFailed, PathUnavailable) as exc:
            said.append(f"{firewall.kind}: {exc}")
        else:
            return firewall
    raise PathUnavailable(f"Packets can't be masqueraded here. {' '.join(said)}")


def nft_rules(name: str, link: str, plan: Plan, strangers: Strangers) -> str:
    """Commands for ``nft -f``."""
    text = ""
    for family, word, network in ((4, "ip", plan.access.network), (6, "ip6", plan.access.network6)):
        if family not in strangers:
            continue
        closed = "".join(
            f'add rule {word} {name} forward iifname "{device}" oifname != "{LINK_PREFIX}*" ct state new '
            "ct status & dnat == 0 drop\n"
            for device in strangers[family]
        )
        text += (
            f"add table {word} {name}\n"
            f"add chain {word} {name} postrouting {{ type nat hook postrouting priority 100; policy accept; }}\n"
            f'add rule {word} {name} postrouting {word} saddr {network} oifname != "{link}" masquerade\n'
            f"add chain {word} {name} forward {{ type filter hook forward priority 0; policy accept; }}\n"
            f'add rule {word} {name} forward oifname "{link}" ct state new drop\n'
            f"{closed}"
        )
    return text


def iptables_rules(family: int, name: str, link: str, plan: Plan, strangers: Sequence[str]) -> str:
    """The same for ``iptables-restore``: inserted before a host's own rules, as an nft chain stands beside them."""
    network = plan.access.network if family == 4 else plan.access.network6
    mark, new = f"-m comment --comment {name}", "-m conntrack --ctstate NEW"
    closed = "".join(
        f"-I FORWARD -i {device} ! -o {LINK_PREFIX}+ {new} -m conntrack ! --ctstate DNAT {mark} -j DROP\n"
        for device in strangers
    )
    return (
        f"*nat\n-I POSTROUTING -s {network} ! -o {link} {mark} -j MASQUERADE\nCOMMIT\n"
        f"*filter\n-I FORWARD -o {link} {new} {mark} -j DROP\n{closed}COMMIT\n"
    )


def iptables_removal(saved: str, name: str) -> str:
    """What takes the rules of ``name`` away again, from the output of ``iptables-save``; empty when there are none."""
    text, found = "", False
    for line in saved.splitlines():
        if line.startswith("*"):
            text += f"{line}\n"
        elif line == "COMMIT":
            text += "COMMIT\n"
        elif line.startswith("-A ") and name in line.replace('"', " ").split():
            text += f"-D {line.removeprefix('-A ')}\n"
            found = True
    return text if found else ""

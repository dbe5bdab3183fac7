"""Clients: the ways to fetch. A description is data (``clients/*.toml``); a build is what is installed."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lastbyte.domain.errors import UnknownName


class Protocol(enum.StrEnum):
    """The HTTP version that a client is forced to speak."""

    H2 = "h2"
    H3 = "h3"


@dataclass(frozen=True, slots=True)
class Client:
    """One way to fetch: a program forced to one protocol."""

    id: str
    """``<program>-<protocol>``, for example ``curl-quiche-h3``."""
    program: str
    """Name of the description, for example ``curl-quiche``."""
    protocol: Protocol
    title: str
    argv: tuple[str, ...]
    """Argument template; ``{url}``, ``{host}``, ``{port}``, ``{address}``, ``{ca_file}``, ``{timeout_s}``, ... are
    filled in for each trial (see clients/README.md for all of them)."""
    parser: str
    """Name of the way its timings are read, for example ``curl-json``."""
    executable: tuple[str, ...] = ()
    """Where the program may be found, first match wins."""
    quic_stack: str = ""
    ca_argv: tuple[str, ...] = ()
    """Arguments added when the trial has a CA file of its own."""
    env: Mapping[str, str] = field(default_factory=dict)
    timing_map: Mapping[str, str] = field(default_factory=dict)
    """For generic parsers: where in the output each timing stands."""


@dataclass(frozen=True, slots=True)
class ClientBuild:
    """The exact program that ran."""

    program: str
    path: str
    version_text: str
    """What the program says of itself, whole (``curl -V``)."""
    sha256: str
    """Digest of the executable file."""

    @property
    def short_version(self) -> str:
        """First line of the version text."""
        return self.version_text.splitlines()[0] if self.version_text else ""


def expand_clients(names: Sequence[str], known: Sequence[Client], field_name: str = "clients") -> list[Client]:
    """Clients for ``names``; the name of a program stands for all its protocols. Order kept, duplicates dropped.

    Raises UnknownName naming the item.
    """
    by_id = {client.id: client for client in known}
    chosen: dict[str, Client] = {}
    for index, name in enumerate(names):
        matches = [by_id[name]] if name in by_id else [c for c in known if c.program == name]
        if not matches:
            raise UnknownName(f"{field_name}.{index}", "client", name, list(by_id))
        chosen.update((client.id, client) for client in matches)
    return list(chosen.values())

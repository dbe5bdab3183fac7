"""Clients: the ways to fetch. A description is data (``clients/*.toml``); a build is what is installed."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lastbyte.domain.errors import InvalidInput, UnknownName


class Protocol(enum.StrEnum):
    """The HTTP version that a client is forced to speak."""

    H2 = "h2"
    H3 = "h3"

    @property
    def http_version(self) -> str:
        """The version as curl's ``%{http_version}`` writes it: ``2`` or ``3``."""
        return self.value[1:]


class Memory(enum.StrEnum):
    """What an arm may know of the server from a request before; a plain arm (none of these) knows nothing."""

    REUSE = "reuse"
    """The connection: an earlier request of the same process opened it."""
    RESUME = "resume"
    """A session ticket: the connection is new, its TLS session is not (RFC 8446, 2.2)."""
    EARLY_DATA = "0rtt"
    """A session ticket, and the request leaves with the first packets (RFC 8446, 2.3)."""


class Parser(enum.StrEnum):
    """Ways in which a client's output becomes timings."""

    CURL_JSON = "curl-json"
    """curl's ``--write-out`` as JSON, made by ``{curl_write_out}``."""
    JSON = "json"
    """A JSON document on standard output (or its last line), read by dotted paths."""
    REGEX = "regex"
    """Named groups of regular expressions searched in the output."""
    WALL = "wall"
    """Nothing is reported: wall time of the process stands for TTLB, start-up and exit included."""


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
    """Name of the way its timings are read: a value of ``Parser``."""
    executable: tuple[str, ...] = ()
    """Where the program may be found, first match wins."""
    quic_stack: str = ""
    tls_groups_argv: tuple[str, ...] = ()
    """Arguments that stand for ``{tls_groups_argv}`` in the template for pinned groups; empty: it has no way to."""
    tls_groups: tuple[str, ...] = ()
    """Key exchange groups to offer, the preferred one first; empty: the program's own choice."""
    body: str = ""
    """Output on which the program writes the body and nothing else: ``stdout``; empty: none. Its digest is taken."""
    ca_argv: tuple[str, ...] = ()
    """Arguments that stand for ``{ca_argv}`` in the template when the trial has a CA file of its own."""
    warm_up_argv: tuple[str, ...] = ()
    """Arguments that stand for ``{warm_up_argv}`` in the template: what the process does before the fetch."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the program, besides the few that every client gets."""
    timing_map: Mapping[str, str] = field(default_factory=dict)
    """For ``json``: where in the document each figure stands."""
    patterns: tuple[str, ...] = ()
    """For ``regex``: expressions whose named groups are the figures."""
    unit: str = "s"
    """Unit of the times that ``json`` and ``regex`` read: ``s``, ``ms``, ``us``, or ``clock`` for the time of day."""
    stream: str = "stdout"
    """Output that ``regex`` searches: ``stdout``, ``stderr`` or ``both``."""
    version_argv: tuple[str, ...] = ("--version",)
    """Arguments that make the program print its version."""
    memory: Memory | None = None
    """What it starts with of a request before; None: nothing, as every plain arm."""
    capture_env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that make the program leave a key log, a qlog or a HAR; ``{keylog_file}``,
    ``{qlog_dir}`` and ``{har_file}`` in their values are filled in."""
    capture_argv: tuple[str, ...] = ()
    """Arguments that do the same, added at the end."""

    @property
    def times_whole_process(self) -> bool:
        """True when TTLB is the process's wall time, so it can't be compared with a client that reports its own."""
        return self.parser == Parser.WALL


def watched(client: Client, keylog_file: str, qlog_dir: str, har_file: str) -> Client:
    """The same client, told to leave what it can: its TLS secrets in the file, its qlog in the folder, a page's HAR."""
    places = {"{keylog_file}": keylog_file, "{qlog_dir}": qlog_dir, "{har_file}": har_file}

    def filled(text: str) -> str:
        for name, place in places.items():
            text = text.replace(name, place)
        return text

    return replace(
        client,
        argv=(*client.argv, *(filled(item) for item in client.capture_argv)),
        warm_up_argv=(),  # its qlog would lie beside that of the fetch
        env={**client.env, **{name: filled(value) for name, value in client.capture_env.items()}},
    )


MEMORY_TITLES = {
    Memory.REUSE: "on an open connection",
    Memory.RESUME: "with a session ticket",
    Memory.EARLY_DATA: "with 0-RTT",
}


AA_SUFFIX = "@aa"
"""Ends the id of an arm that is another arm's client once more."""


def again(client: Client) -> Client:
    """The same client as an arm of its own, to be compared with itself (A/A)."""
    return replace(client, id=f"{client.id}{AA_SUFFIX}", title=f"{client.title}, once more")


def pinned(client: Client, groups: Sequence[str], field_name: str = "tls_groups") -> Client:
    """The same client with these key exchange groups alone. Raises InvalidInput when it has no way to pin them."""
    if groups and not client.tls_groups_argv:
        raise InvalidInput(
            field_name,
            f"{client.id} has no way to pin key exchange groups.",
            "Give its description tls_groups_argv, or leave the client or the groups out.",
        )
    return replace(client, tls_groups=tuple(groups))


def is_aa(client_id: str) -> bool:
    """True for an arm that ``again`` made."""
    return client_id.endswith(AA_SUFFIX)


@dataclass(frozen=True, slots=True)
class ClientBuild:
    """The exact program that ran."""

    program: str
    path: str
    version_text: str
    """What the program says of itself, whole (``curl -V``), then the versions of the packages it came from, if any."""
    sha256: str
    """Digest of the executable file; for a program unpacked with its libraries, of the ``sha256sum`` lines of all."""

    @property
    def short_version(self) -> str:
        """First line of the version text."""
        return self.version_text.splitlines()[0] if self.version_text else ""


def expand_clients(names: Sequence[str], known: Sequence[Client], field_name: str = "clients") -> list[Client]:
    """Clients for ``names``; the name of a program stands for its plain client of each protocol. Order kept, duplicates
    dropped.

    Raises UnknownName naming the item.
    """
    by_id = {client.id: client for client in known}
    chosen: dict[str, Client] = {}
    for index, name in enumerate(names):
        matches = [by_id[name]] if name in by_id else [c for c in known if c.program == name and c.memory is None]
        if not matches:
            raise UnknownName(f"{field_name}.{index}", "client", name, list(by_id))
        chosen.update((client.id, client) for client in matches)
    return list(chosen.values())

"""Clients as data: ``clients/*.toml`` and the user's own descriptions become ``Client`` objects.

Folders, in this order: the ones that ship with lastbyte, ``LASTBYTE_CLIENTS_DIR`` (several joined by ``:``), and
``~/.config/lastbyte/clients``. clients/README.md explains every key.
"""

from __future__ import annotations

import importlib.resources
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lastbyte.adapters.client_output import FIGURES, JSON_FIGURES
from lastbyte.adapters.command_line import (
    CA_ARGV,
    MEMORY_ARGV,
    PLACEHOLDERS,
    PROTOCOL_ARGV,
    TLS_GROUPS_ARGV,
    WARM_UP_ARGV,
    names_in,
)
from lastbyte.domain.client import MEMORY_TITLES, Client, Memory, Parser, Protocol
from lastbyte.domain.errors import InvalidInput

FOLDERS_ENV = "LASTBYTE_CLIENTS_DIR"

Words = tuple[str, ...]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=60)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DebianInstall(_Model):
    """A program that ``lastbyte setup`` unpacks from a Debian suite."""

    suites: Annotated[Words, Field(min_length=1)]
    """Suites to try, in this order."""
    packages: Annotated[Words, Field(min_length=1)]
    program: Annotated[str, Field(pattern="^/")]
    """Path of the program inside the package."""
    requires: str = ""
    """Text that its version output must hold."""


class SourceInstall(_Model):
    """A program that is made from a folder beside the description."""

    folder: Name
    """A Go module with its go.sum; for Python, fetch.py and requirements.txt with a hash for each package."""


class Install(_Model):
    """How lastbyte brings the program; a description without it names a program that is there already."""

    optional: bool = False
    """True: only ``lastbyte clients install`` brings it. Else ``lastbyte setup`` does."""
    recipe: str | None = None
    """Name of a recipe in lastbyte.provision."""
    debian: DebianInstall | None = None
    go: SourceInstall | None = None
    python: SourceInstall | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if [self.recipe, self.debian, self.go, self.python].count(None) != 3:
            raise ValueError("give one of recipe, debian, go and python")
        return self


class _Timings(_Model):
    parser: Parser
    unit: Literal["s", "ms", "us", "clock"] = "s"
    stream: Literal["stdout", "stderr", "both"] = "stdout"
    patterns: Words = ()
    fields: dict[str, str] = {}

    @field_validator("patterns")
    @classmethod
    def _compile(cls, patterns: Words) -> Words:
        for pattern in patterns:
            try:
                groups = re.compile(pattern).groupindex
            except re.error as exc:
                raise ValueError(f"{pattern!r} is not a regular expression: {exc}") from exc
            _check_figures(groups)
        return patterns

    @field_validator("fields")
    @classmethod
    def _known(cls, fields: dict[str, str]) -> dict[str, str]:
        _check_figures(fields, JSON_FIGURES)
        return fields

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.parser is Parser.REGEX and not any("(?P<ttlb>" in pattern for pattern in self.patterns):
            raise ValueError("parser regex needs patterns, one of them with a group (?P<ttlb>...)")
        if self.parser is Parser.JSON and "ttlb" not in self.fields:
            raise ValueError("parser json needs fields with at least ttlb")
        return self


def _check_figures(names: Iterable[str], known: frozenset[str] = FIGURES) -> None:
    unknown = sorted(set(names) - known)
    if unknown:
        raise ValueError(f"no figure is called {', '.join(unknown)}; known: {', '.join(sorted(known))}")


class _Variant(_Model):
    argv: Words = ()
    title: str | None = None


class _Capture(_Model):
    env: dict[str, str] = {}
    argv: Words = ()

    @model_validator(mode="after")
    def _placeholders(self) -> Self:
        named = [name for item in (*self.env.values(), *self.argv) for name in names_in(item)]
        unknown = sorted(set(named) - {"keylog_file", "qlog_dir", "har_file"})
        if unknown:
            raise ValueError(f"there is no placeholder {{{unknown[0]}}} here; known: keylog_file, qlog_dir, har_file")
        if not named:
            raise ValueError("names none of {keylog_file}, {qlog_dir} and {har_file}, so it would do nothing")
        return self


class _Arm(_Model):
    """An arm with a memory (``lastbyte.domain.client.Memory``)."""

    protocols: Annotated[tuple[Protocol, ...], Field(min_length=1)]
    argv: Words = ()
    """Added to the arguments of the protocol, for the measured request alone."""


class _Document(_Model):
    program: Name
    title: str
    quic_stack: str = ""
    executable: Annotated[Words, Field(min_length=1)]
    argv: Annotated[Words, Field(min_length=1)]
    ca_argv: Words = ()
    tls_groups_argv: Words = ()
    body: Literal["", "stdout"] = ""
    version_argv: Words = ("--version",)
    env: dict[str, str] = {}
    protocols: Annotated[dict[Protocol, _Variant], Field(min_length=1)]
    timings: _Timings
    warm_up_argv: Words = ()
    memory_argv: Words = ()
    """Stands for ``{memory_argv}`` in arms with a memory: the request before."""
    arms: dict[Memory, _Arm] = {}
    capture: _Capture | None = None
    install: Install | None = None

    @field_validator("argv", "ca_argv", "memory_argv", "tls_groups_argv", "warm_up_argv")
    @classmethod
    def _placeholders(cls, items: Words) -> Words:
        for item in items:
            if item in (CA_ARGV, PROTOCOL_ARGV, MEMORY_ARGV, TLS_GROUPS_ARGV, WARM_UP_ARGV):
                continue
            unknown = [name for name in names_in(item) if name not in PLACEHOLDERS]
            if unknown:
                known = ", ".join(sorted(PLACEHOLDERS))
                raise ValueError(f"{item!r}: there is no placeholder {{{unknown[0]}}}; known: {known}")
        return items

    @model_validator(mode="after")
    def _arms_can_be_made(self) -> Self:
        for memory, arm in self.arms.items():
            missing = [protocol for protocol in arm.protocols if protocol not in self.protocols]
            if missing:
                raise ValueError(f"arm {memory} is for {missing[0]}, which the program does not speak")
        if self.arms and not (self.memory_argv and MEMORY_ARGV in self.argv):
            raise ValueError(f'arms need memory_argv, and an item "{MEMORY_ARGV}" in argv')
        return self

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if bool(self.tls_groups_argv) != (TLS_GROUPS_ARGV in self.argv):
            raise ValueError(f"tls_groups_argv and the item {TLS_GROUPS_ARGV} in argv go together")
        if bool(self.warm_up_argv) != (WARM_UP_ARGV in self.argv):
            raise ValueError(f"warm_up_argv and the item {WARM_UP_ARGV} in argv go together")
        if self.body and self.timings.parser in (Parser.JSON, Parser.REGEX) and self.timings.stream != "stderr":
            raise ValueError("with the body on stdout, figures must be read from stderr")
        if self.timings.parser is Parser.CURL_JSON and not any("{curl_write_out}" in item for item in self.argv):
            raise ValueError('parser curl-json needs "--write-out", "{curl_write_out}" in argv')
        if not any("url" in names_in(i) or "path" in names_in(i) for v in (self.argv, *self._variants()) for i in v):
            raise ValueError("argv names neither {url} nor {path}, so nothing would be fetched")
        return self

    def _variants(self) -> list[Words]:
        return [variant.argv for variant in self.protocols.values()]


@dataclass(frozen=True, slots=True)
class ClientDescription:
    """One file: a program, how it is installed, and one client per protocol."""

    source: Path
    program: str
    title: str
    executable: Words
    clients: tuple[Client, ...]
    install: Install | None = None
    shipped: bool = False
    """True for one that comes with lastbyte."""

    @property
    def optional(self) -> bool:
        """True when nothing is amiss without it: it ships, and is brought only when someone asks for it."""
        return self.install.optional if self.install else self.shipped


def load_clients(folders: list[Path] | None = None) -> list[Client]:
    """Every client that is described, in the order of folders, files and protocols. Raises InvalidInput."""
    return [client for description in load_descriptions(folders) for client in description.clients]


def load_descriptions(folders: list[Path] | None = None) -> list[ClientDescription]:
    """Every description in ``folders`` (default: ``description_folders()``), optional ones last.

    One of the user's takes the place of an optional one that ships. Raises InvalidInput.
    """
    found: dict[str, ClientDescription] = {}
    for folder in description_folders() if folders is None else folders:
        for file in sorted(folder.glob("*.toml")):
            description = read_description(file)
            earlier = found.get(description.program)
            if earlier is not None and not (earlier.shipped and earlier.optional):
                raise InvalidInput(
                    f"{file}: program",
                    f"{description.program!r} is described in {earlier.source} too.",
                    "Give one of them another name.",
                )
            found[description.program] = description
    return sorted(found.values(), key=lambda description: description.optional)


def description_folders() -> list[Path]:
    """Where descriptions are looked for; a folder that is not there is passed over."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    named = [Path(item).expanduser() for item in os.environ.get(FOLDERS_ENV, "").split(os.pathsep) if item]
    return [_shipped_folder(), *named, config / "lastbyte/clients"]


def read_description(file: Path) -> ClientDescription:
    """The description in ``file``. Raises InvalidInput naming file and key."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(str(file), f"can't be read: {exc}.", "Check its permissions and that it is UTF-8.") from exc
    except tomllib.TOMLDecodeError as exc:
        raise InvalidInput(str(file), f"is not TOML: {exc}.", "See clients/README.md for an example.") from exc
    try:
        document = _Document.model_validate(data)
    except ValidationError as exc:
        first = exc.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
        raise InvalidInput(
            f"{file}: {key}" if key else str(file), f"{message}.", "See clients/README.md for every key."
        ) from exc
    return ClientDescription(
        source=file,
        program=document.program,
        title=document.title,
        executable=document.executable,
        clients=(
            *(_client(document, protocol) for protocol in document.protocols),
            *(
                _client(document, protocol, memory)
                for memory, arm in document.arms.items()
                for protocol in arm.protocols
            ),
        ),
        install=document.install,
        shipped=file.parent == _shipped_folder(),
    )


def _shipped_folder() -> Path:
    return Path(str(importlib.resources.files("clients")))


def _client(document: _Document, protocol: Protocol, memory: Memory | None = None) -> Client:
    variant = document.protocols[protocol]
    arm = document.arms[memory] if memory else None
    capture = document.capture or _Capture.model_construct()
    before = _spliced(document.memory_argv, {PROTOCOL_ARGV: variant.argv}) if arm else ()
    protocol_argv = (*variant.argv, *arm.argv) if arm else variant.argv
    title = variant.title or f"{document.title} HTTP/{protocol.http_version}"
    title += " (process time)" if document.timings.parser is Parser.WALL else ""
    return Client(
        id=f"{document.program}-{protocol}" + (f"@{memory}" if memory else ""),
        program=document.program,
        protocol=protocol,
        title=", ".join([title, *([MEMORY_TITLES[memory]] if memory else [])]),
        argv=_spliced(document.argv, {PROTOCOL_ARGV: protocol_argv, MEMORY_ARGV: before}),
        parser=document.timings.parser.value,
        executable=document.executable,
        quic_stack=document.quic_stack if protocol is Protocol.H3 else "",
        ca_argv=document.ca_argv,
        tls_groups_argv=document.tls_groups_argv,
        warm_up_argv=document.warm_up_argv,
        body=document.body,
        env=document.env,
        timing_map=document.timings.fields,
        patterns=document.timings.patterns,
        unit=document.timings.unit,
        stream=document.timings.stream,
        version_argv=document.version_argv,
        memory=memory,
        capture_env=capture.env,
        capture_argv=capture.argv,
    )


def _spliced(items: Words, lists: Mapping[str, Words]) -> Words:
    return tuple(part for item in items for part in lists.get(item, (item,)))

"""``lastbyte doctor``: what this machine has of everything that lastbyte runs, and how to mend what is missing.

Boxes and servers belong to other packages; the command line passes in functions that know about them.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from rich import box
from rich.markup import escape
from rich.table import Table

from lastbyte.domain.errors import LastbyteError
from lastbyte.provision.clients import ClientStatus, client_statuses
from lastbyte.provision.origins import origin_programs

OK, MISSING, UNUSABLE, OPTIONAL = "ok", "missing", "unusable", "optional"

_MIN_PYTHON = (3, 11)
_TUN = Path("/dev/net/tun")
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""Bit numbers of capabilities(7) that making a path takes."""
_TOOLS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux"}
"""Programs that a path is made with, and the Debian packages that bring them."""
_COLOURS = {OK: "green", MISSING: "yellow", UNUSABLE: "red", OPTIONAL: "dim"}


@dataclass(frozen=True, slots=True)
class DoctorRow:
    """One thing that was looked at."""

    kind: str
    """``client``, ``box``, ``server``, ``origin`` or ``system``."""
    name: str
    version: str
    state: str
    """``ok``, ``missing``, ``unusable``, or ``optional``: not there, and nothing is amiss without it."""
    detail: str = ""
    remedy: str = ""
    """What to do; empty when the state is ``ok``."""


RowProvider = Callable[[], Iterable[DoctorRow]]


class BoxLike(Protocol):
    """What ``netem`` says of a kind of box."""

    @property
    def kind(self) -> str:
        """``kernel`` or ``uml``."""

    @property
    def usable(self) -> bool:
        """True when it can be made here."""

    @property
    def version(self) -> str:
        """Its version; may be empty."""

    @property
    def reason(self) -> str:
        """Why not and how to get it, or a word on it."""


class ProgramLike(Protocol):
    """A program that was found."""

    @property
    def path(self) -> Path:
        """The program."""

    @property
    def version(self) -> str:
        """Its version; may be empty."""

    @property
    def source(self) -> str:
        """Where it was found."""


def examine(providers: Sequence[RowProvider] = ()) -> list[DoctorRow]:
    """Rows of clients, of every given provider, of origins and of the system; one that can't be read is a row too."""
    rows: list[DoctorRow] = []
    for provider in (client_rows, *providers, origin_rows, system_rows):
        try:
            rows += provider()
        except LastbyteError as exc:
            name = getattr(provider, "__name__", "check").removesuffix("_rows")
            rows.append(DoctorRow("system", name, "", UNUSABLE, str(exc)))
    return rows


def client_rows() -> list[DoctorRow]:
    """One row per described client."""
    return [row for status in client_statuses() for row in _rows_of(status)]


def _rows_of(status: ClientStatus) -> list[DoctorRow]:
    build, install = status.build, status.description.install
    remedy = "" if status.ready else _client_remedy(status)
    if build is None:
        there = "is not installed" not in status.problem
        if not there and status.description.optional:
            arms = ", ".join(c.id for c in status.description.clients)
            return [DoctorRow("client", status.description.program, "", OPTIONAL, f"brings {arms}", remedy)]
        state = UNUSABLE if there else MISSING
        return [DoctorRow("client", c.id, "", state, status.problem, remedy) for c in status.description.clients]
    detail = f"{build.path} sha256 {build.sha256[:12]}"
    if status.outdated:
        detail += "; built by an earlier recipe"
    if install is None:
        detail += f"; described in {status.description.source}"
    return [DoctorRow("client", c.id, build.short_version, OK, detail, remedy) for c in status.description.clients]


def _client_remedy(status: ClientStatus) -> str:
    if status.command:
        return f"Run: {status.command}"
    if status.description.shipped:
        return f"lastbyte can't bring it; put it where it is looked for: {', '.join(status.description.executable)}"
    return f"Install it, or correct executable in {status.description.source}"


def box_rows(statuses: Iterable[BoxLike]) -> list[DoctorRow]:
    """One row per kind of box; one usable kind is enough, so the others' remedies are for choice, not need."""
    return [
        DoctorRow("box", s.kind, s.version, OK, s.reason, "")
        if s.usable
        else DoctorRow("box", s.kind, s.version, UNUSABLE, s.reason, "One usable box is enough.")
        for s in statuses
    ]


def server_row(name: str, find: Callable[[], ProgramLike]) -> DoctorRow:
    """Row of an embedded server that ``find`` finds, or says in a LastbyteError why not."""
    try:
        program = find()
    except LastbyteError as exc:
        return DoctorRow("server", name, "", MISSING, "", str(exc))
    return DoctorRow("server", name, program.version, OK, f"{program.path} ({program.source})")


def origin_rows() -> list[DoctorRow]:
    """One row per server program of the testbed."""
    states = {"ready": OK, "missing": MISSING}
    return [
        DoctorRow(
            "origin",
            program.name,
            program.version,
            states.get(program.state, UNUSABLE),
            str(program.path or ""),
            "" if program.state == "ready" else "Run: lastbyte setup",
        )
        for program in origin_programs()
    ]


def system_rows() -> list[DoctorRow]:
    """Python, system, kernel, rights, the TUN device and the tools of a path."""
    python_ok = sys.version_info[:2] >= _MIN_PYTHON
    rows = [
        DoctorRow(
            "system",
            "python",
            platform.python_version(),
            OK if python_ok else UNUSABLE,
            sys.executable,
            "" if python_ok else f"Use Python {'.'.join(map(str, _MIN_PYTHON))} or newer",
        ),
        DoctorRow("system", "kernel", platform.release(), OK, _pretty_name()),
        _rights_row(Path("/proc/self/status").read_text()),
        _tun_row(),
    ]
    for tool, package in _TOOLS.items():
        found = shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        remedy = "" if found else f"Run: apt-get install -y {package}"
        rows.append(DoctorRow("system", tool, "", OK if found else MISSING, found or "", remedy))
    return rows


def _rights_row(status: str) -> DoctorRow:
    effective = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
    lacking = [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]
    if not lacking:
        return DoctorRow("system", "rights", "", OK, f"uid {os.geteuid()}, {' and '.join(_CAPABILITIES)}")
    return DoctorRow(
        "system",
        "rights",
        "",
        UNUSABLE,
        f"uid {os.geteuid()} lacks {' and '.join(lacking)}: no path can be made (API and dashboard work)",
        "Run as root (sudo), or give a container cap_add: [NET_ADMIN, SYS_ADMIN]",
    )


def _tun_row() -> DoctorRow:
    if not _TUN.exists():
        return DoctorRow(
            "system",
            str(_TUN),
            "",
            MISSING,
            "the uml box can't be made",
            "modprobe tun; in a container --device /dev/net/tun",
        )
    if not os.access(_TUN, os.R_OK | os.W_OK):
        return DoctorRow("system", str(_TUN), "", UNUSABLE, "may not be opened by this user", "Run as root")
    return DoctorRow("system", str(_TUN), "", OK, "")


def _pretty_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return platform.system()


def table(rows: Iterable[DoctorRow]) -> Table:
    """The rows for a terminal."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("kind", "name", "state"):
        shown.add_column(heading, no_wrap=True)
    for heading in ("version", "detail"):
        shown.add_column(heading, overflow="fold")
    for row in rows:
        state = f"[{_COLOURS[row.state]}]{row.state}[/]"
        detail = escape(_from_home(row.detail)) + (f"\n[bold]{escape(row.remedy)}[/]" if row.remedy else "")
        shown.add_row(row.kind, escape(row.name), state, escape(_short(row.version)), detail.strip())
    return shown


def document(rows: Iterable[DoctorRow]) -> dict[str, object]:
    """The rows for ``--json``; ``ok`` is ``healthy``."""
    items = list(rows)
    return {"ok": healthy(items), "items": [asdict(row) for row in items]}


def healthy(rows: Iterable[DoctorRow]) -> bool:
    """True when everything is there; of the kinds of box one is enough."""
    items = list(rows)
    boxes = [row for row in items if row.kind == "box"]
    rest = all(row.state in (OK, OPTIONAL) for row in items if row.kind != "box")
    return rest and (not boxes or any(row.state == OK for row in boxes))


def _from_home(detail: str) -> str:
    return re.sub(rf"(?<!\S){re.escape(str(Path.home()))}/", "~/", detail)


def _short(version: str) -> str:
    """Of curl's long first line the parts that matter in a table: curl, TLS and QUIC libraries."""
    if not version.startswith("curl "):
        return version
    words = [w for w in version.split() if w.split("/")[0] in {"quiche", "ngtcp2", "nghttp2", "OpenSSL", "BoringSSL"}]
    return " ".join(["curl", version.split()[1], *words])

"""The testbed's server programs: Caddy, nginx and HAProxy from one newer Debian suite, unpacked beside the system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lastbyte.domain.errors import Unavailable
from lastbyte.provision import debian

MINIMUM_VERSIONS: Mapping[str, tuple[int, int]] = {"caddy": (2, 11), "haproxy": (3, 2), "nginx": (1, 28)}
"""Older ones lose a round trip on a post-quantum ClientHello (Caddy 2.6, HAProxy 3.0) or know no CUBIC for QUIC (nginx
before 1.27.5)."""
SUITES = ("forky", "sid")
"""Tried in this order: the next stable release, then unstable. trixie's Caddy and HAProxy are too old."""
_NAME = "origins"


@dataclass(frozen=True, slots=True)
class ProgramStatus:
    """One program that the product uses, for ``lastbyte doctor``."""

    name: str
    path: Path | None
    version: str
    """Exact version of its package; empty when it is not there."""
    state: str
    """``ready``, ``missing`` or ``too old``."""
    remedy: str
    """What to do; empty when it is ready."""


def origin_programs() -> list[ProgramStatus]:
    """What is there of the testbed's servers; looks at files only."""
    root = _installed()
    return [_status(name, root) for name in sorted(MINIMUM_VERSIONS)]


def program(name: str) -> ProgramStatus:
    """The usable program ``name``; raises Unavailable with the remedy when there is none."""
    status = _status(name, _installed())
    if status.path is None or status.state != "ready":
        raise Unavailable(f"{name} is {status.state}. {status.remedy}")
    return status


def install_origins(progress: debian.Progress | None = None) -> list[ProgramStatus]:
    """Unpack the three servers where they are missing; returns their state. Raises Unavailable.

    Exact versions, dependencies included, are recorded in the folder's manifest.json.
    """
    if all(status.state == "ready" for status in origin_programs()):
        return origin_programs()
    problems = []
    for suite in SUITES:
        try:
            root = debian.unpacked(suite, sorted(MINIMUM_VERSIONS), _NAME, progress, refresh=True)
        except Unavailable as exc:
            problems.append(str(exc))
            continue
        found = [_status(name, root) for name in sorted(MINIMUM_VERSIONS)]
        if all(status.state == "ready" for status in found):
            return found
        problems += [f"Debian {suite} holds {s.name} {s.version}, {s.remedy}" for s in found if s.state != "ready"]
    raise Unavailable("The testbed's servers can't be had: " + " ".join(problems))


def _installed() -> debian.UnpackedRoot | None:
    there = [root for suite in SUITES if (root := debian.load(suite, _NAME))]
    for root in there:
        if all(_status(name, root).state == "ready" for name in MINIMUM_VERSIONS):
            return root
    return there[0] if there else None


def _status(name: str, root: debian.UnpackedRoot | None) -> ProgramStatus:
    install = "Run: lastbyte setup"
    version = root.versions.get(name, "") if root else ""
    path = root.bin / name if root else None
    if path is None or not version or not path.is_file():
        return ProgramStatus(name, None, "", "missing", install)
    wanted = MINIMUM_VERSIONS[name]
    if numeric_version(version) < wanted:
        return ProgramStatus(name, path, version, "too old", f"at least {wanted[0]}.{wanted[1]} is needed. {install}")
    return ProgramStatus(name, path, version, "ready", "")


def numeric_version(version: str) -> tuple[int, ...]:
    """Upstream numbers of a Debian version: "1:3.2.26-1+b2" is (3, 2, 26); () when there are none."""
    upstream = version.split(":", 1)[-1].rsplit("-", 1)[0]
    match = re.match(r"\d+(?:\.\d+)*", upstream)
    return tuple(int(part) for part in match[0].split(".")) if match else ()

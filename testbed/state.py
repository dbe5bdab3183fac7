"""What a running testbed tells about itself: ``var/testbed.json``."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lastbyte.domain.errors import ResolutionFailed

FILE_NAME = "testbed.json"

SIGN_OF_LIFE_S = 4.0
"""A published testbed touches its file more often than this, in seconds; it is in another container, where nobody
here can see its process."""


@dataclass(frozen=True, slots=True)
class ProviderState:
    """One stand-in as it runs."""

    name: str
    host: str
    address: str
    address6: str | None
    server: str
    """Program and version: "nginx 1.30.6-2"."""
    base_rtt_ms: float
    """Distance that the path adds, in ms of round trip."""
    tcp_congestion_control: str
    quic_congestion_control: str


@dataclass(frozen=True, slots=True)
class FaultState:
    """One host that fails on purpose."""

    name: str
    host: str
    address: str
    address6: str | None
    behaviour: str


@dataclass(frozen=True, slots=True)
class Published:
    """How a testbed in a container of its own is reached."""

    address: str
    """Its IPv4 address."""
    ports: Mapping[str, int]
    """Each address of each host -> port that stands for the host's port 443."""
    address6: str = ""
    """Its IPv6 address; empty: it has none."""


@dataclass(frozen=True, slots=True)
class TestbedState:
    """A living testbed."""

    __test__ = False  # its name makes pytest look for tests in it

    pid: int
    """Process that holds the namespace."""
    start_time: int
    """Start of that process in clock ticks since boot, so that another process with its number is told apart."""
    netns: Path
    ca_file: Path
    providers: tuple[ProviderState, ...]
    objects: Mapping[str, int]
    """Size label to bytes."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Size label to SHA-256 of the object."""
    faults: tuple[FaultState, ...] = ()
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Kernel settings of the namespace that results depend on."""
    realtime: bool = False
    """Whether its servers run at real-time priority."""
    published: Published | None = None
    """None: its hosts have their own addresses in the namespace ``netns``."""

    def address_of(self, host: str, *, ipv6: bool = False) -> str:
        """Address of a testbed host; raises ResolutionFailed when there is none."""
        entries: list[ProviderState | FaultState] = [*self.providers, *self.faults]
        for entry in entries:
            if entry.host == host and (found := entry.address6 if ipv6 else entry.address):
                return found
        known = ", ".join(entry.host for entry in self.providers)
        raise ResolutionFailed(f"The testbed has no host {host}. It serves: {known}.")


def process_start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot (proc(5), stat, field 22); None when it is not there."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rsplit(")", 1)[1].split()
    return None if fields[0] in "ZX" else int(fields[19])


def save(var_dir: Path, state: TestbedState) -> Path:
    """Write the state atomically; readers see all of it or the one before."""
    var_dir.mkdir(parents=True, exist_ok=True)
    target = var_dir / FILE_NAME
    partial = target.with_suffix(f".{state.pid}.part")
    data = {**asdict(state), "netns": str(state.netns), "ca_file": str(state.ca_file)}
    partial.write_text(json.dumps(data, indent=1) + "\n")
    partial.replace(target)
    return target


def load(var_dir: Path) -> TestbedState | None:
    """The testbed that runs for ``var_dir``; None when there is none, or its process is gone."""
    try:
        data = json.loads((var_dir / FILE_NAME).read_text())
        state = TestbedState(
            pid=data["pid"],
            start_time=data["start_time"],
            netns=Path(data["netns"]),
            ca_file=Path(data["ca_file"]),
            providers=tuple(ProviderState(**entry) for entry in data["providers"]),
            objects=data["objects"],
            digests=data["digests"],
            faults=tuple(FaultState(**entry) for entry in data["faults"]),
            sysctls=data["sysctls"],
            realtime=data.get("realtime", False),
            published=Published(**data["published"]) if data.get("published") else None,
        )
        seen_s = time.time() - (var_dir / FILE_NAME).stat().st_mtime
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if state.published is not None:
        return state if seen_s < SIGN_OF_LIFE_S else None
    return state if process_start_time(state.pid) == state.start_time else None


def remove(var_dir: Path, pid: int) -> None:
    """Remove the file when it is the one of process ``pid``."""
    path = var_dir / FILE_NAME
    try:
        if json.loads(path.read_text())["pid"] == pid:
            path.unlink()
    except (OSError, ValueError, KeyError, TypeError):
        return

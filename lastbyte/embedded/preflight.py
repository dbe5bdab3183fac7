"""What is checked before anything starts: one system per folder, free ports, the rights to measure."""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lastbyte.domain.errors import Conflict, InvalidInput

_PORT_PATIENCE_S = 1.0
"""How long a port may stay taken by a system that was killed a moment ago."""


@contextmanager
def only_one(var: Path) -> Iterator[None]:
    """Hold the lock of a state folder; Conflict when another system runs over it.

    The kernel drops the lock with the process that holds it, so a killed system leaves none.
    """
    try:
        var.mkdir(parents=True, exist_ok=True)
        lock = (var / "lastbyte.lock").open("a+", encoding="ascii")
    except OSError as error:
        raise InvalidInput("--var", f"{var} can't be written: {error.strerror}.", "Name another folder.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise Conflict(
                f"lastbyte runs already over {var} (process {holder}). Use that one, stop it with kill {holder}, "
                "or start a second one beside it with --var OTHER and other ports."
            ) from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def check_host(host: str) -> None:
    """The API may listen on ``host``: on loopback, or elsewhere once there is a key; InvalidInput says how."""
    try:
        loopback = ipaddress.IPv4Address(host).is_loopback
    except ValueError as error:
        raise InvalidInput("--api-host", f"{host!r} is no IPv4 address.", "Example: 0.0.0.0 for all.") from error
    if loopback:
        return
    if os.environ.get("LASTBYTE_KEYS", "").lower() == "off":
        raise InvalidInput(
            "--api-host", f"others would reach {host}, and LASTBYTE_KEYS is off.", "Unset LASTBYTE_KEYS."
        )
    if not os.environ.get("LASTBYTE_API_KEY"):
        remedy = "Set one for this system: export LASTBYTE_API_KEY=$(lastbyte key generate)"
        raise InvalidInput("--api-host", f"others would reach {host}, and there is no API key.", remedy)


def check_ports(ports: Mapping[str, int]) -> None:
    """Every port in ``ports`` (flag: number) can be bound on 127.0.0.1; InvalidInput names the flag that changes it."""
    if len(set(ports.values())) != len(ports):
        raise InvalidInput(" and ".join(ports), "must not be the same port.")
    deadline = time.monotonic() + _PORT_PATIENCE_S
    for flag, port in ports.items():
        while not _is_free(port):
            if time.monotonic() > deadline:
                raise InvalidInput(
                    flag,
                    f"port {port} of 127.0.0.1 is taken by another program.",
                    f'Choose another: {flag} {_free_port()} (with make: make run ARGS="{flag} {_free_port()}").',
                )
            time.sleep(0.05)


def _is_free(port: int) -> bool:
    """Whether a server could listen there: nothing is bound to it on 127.0.0.1 or on all addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def lacking_rights() -> str:
    """Why this user can't measure on this machine, and how to mend it; empty when nothing lacks."""
    if os.geteuid() != 0:
        return (
            "This user is not root: measuring makes network namespaces and bridges. Testbed and worker are not "
            "started; dashboard and API show what is stored. Start as root (sudo make run) to measure."
        )
    if not Path("/dev/net/tun").exists():
        return (
            "There is no /dev/net/tun: the box of a User-Mode Linux guest can't run here, only the one of a kernel "
            "with sch_netem. modprobe tun, or give the container the device /dev/net/tun."
        )
    return ""


def publish(var: Path, facts: Mapping[str, object] | None) -> None:
    """Write what runs now into ``up.json`` (pid, URLs, processes) for scripts and the doctor; None removes it."""
    target = var / "up.json"
    if facts is None:
        target.unlink(missing_ok=True)
        return
    draft = target.with_suffix(".new")
    draft.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    draft.replace(target)

"""Tell PostgreSQL every few seconds that this worker is alive, and what it can do."""

from __future__ import annotations

import platform
import socket
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import structlog

from lastbyte.domain.ceiling import Ceiling
from lastbyte.domain.client import Client
from lastbyte.domain.errors import ClientUnavailable, StoreUnavailable
from lastbyte.ports import ClientRunner, InstalledClient, Vantage, VantageStore

EVERY_S = 10.0

log = structlog.get_logger()


class Heartbeat:
    """Writes the vantage's row from a thread of its own while the block runs."""

    def __init__(self, store: VantageStore, describe: Callable[[str], Vantage], every_s: float = EVERY_S) -> None:
        self._store = store
        self._describe = describe
        self._every_s = every_s
        self._trouble = ""
        self._wake = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def note_trouble(self, reason: str) -> None:
        """Say at once why nothing can be measured here now; empty when it can."""
        if reason != self._trouble:
            self._trouble = reason
            self._wake.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._wake.set()
        self._thread.join(timeout=self._every_s)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._store.heartbeat(self._describe(self._trouble))
            except StoreUnavailable as exc:
                log.warning("heartbeat not stored", reason=str(exc))
            self._wake.wait(self._every_s)
            self._wake.clear()


def describe_vantage(
    name: str,
    box_kind: str,
    runner: ClientRunner,
    clients: list[Client],
    ceilings: Callable[[], Sequence[Ceiling]],
    trouble: str,
) -> Vantage:
    """What this machine can do as a vantage; programs that are not installed are left out."""
    known = {(ceiling.client_id, ceiling.sha256): ceiling.rate_mbit_s for ceiling in ceilings()}
    installed = {}
    for client in clients:
        try:
            build = runner.build_of(client)
        except ClientUnavailable:
            continue
        ceiling = known.get((client.id, build.sha256))
        installed[client.id] = InstalledClient(client.id, build.short_version, build.sha256, ceiling)
    return Vantage(
        name=name,
        box_kind=box_kind,
        hostname=socket.gethostname(),
        kernel=platform.release(),
        clients=tuple(installed.values()),
        trouble=trouble,
    )

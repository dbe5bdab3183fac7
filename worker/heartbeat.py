"""Tell PostgreSQL every few seconds that this worker is alive, and what it can do."""

from __future__ import annotations

import contextlib
import platform
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from lastbyte.domain.ceiling import Ceiling
from lastbyte.domain.client import Client
from lastbyte.domain.errors import ClientUnavailable, StoreUnavailable
from lastbyte.ports import ClientRunner, InstalledClient, Vantage, VantageStore, Worker

EVERY_S = 10.0

log = structlog.get_logger()


class Heartbeat:
    """Writes the vantage's and the worker's row from a thread of its own while the block runs.

    After each success it touches ``alive_file``: a health check that costs nothing to the trials beside it.
    """

    def __init__(
        self,
        store: VantageStore,
        worker: Worker,
        describe: Callable[[str], Vantage],
        every_s: float = EVERY_S,
        alive_file: Path | None = None,
    ) -> None:
        self._alive_file = alive_file
        self._store = store
        self._worker = worker
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

    def note_cell(self, cell_id: int | None) -> None:
        """Say what is measured now, with the next beat."""
        self._worker = replace(self._worker, cell_id=cell_id)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._wake.set()
        self._thread.join(timeout=self._every_s)
        with contextlib.suppress(StoreUnavailable):
            self._store.leave(self._worker.id)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._store.heartbeat(self._describe(self._trouble), replace(self._worker, trouble=self._trouble))
            except StoreUnavailable as exc:
                log.warning("heartbeat not stored", reason=str(exc))
            else:
                if self._alive_file is not None:
                    touch(self._alive_file)
            self._wake.wait(self._every_s)
            self._wake.clear()


def touch(file: Path) -> None:
    """Give ``file`` this moment's time, folder and all; a full disk must not stop what it stands for."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError as exc:
        log.warning("sign of life not written", file=str(file), reason=str(exc))


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

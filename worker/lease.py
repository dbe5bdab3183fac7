"""Keep a cell while it is measured, and learn when it is no longer ours."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

import structlog

log = structlog.get_logger()


class LeaseKeeper:
    """Renews a lease from a thread of its own while the block runs; calls ``on_lost`` once when it was taken."""

    def __init__(self, renew: Callable[[], bool], on_lost: Callable[[], None], every_s: float) -> None:
        self._renew = renew
        self._on_lost = on_lost
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(timeout=self._every_s)

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            if not self._renew():
                log.warning("lease lost")
                self._on_lost()
                return

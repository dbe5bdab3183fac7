"""Places with workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class InstalledClient:
    """A client that a vantage has."""

    id: str
    version: str
    sha256: str
    ceiling_mbit_s: float | None = None
    """Unshaped rate of this build there (``lastbyte ceilings``); None: not measured."""


@dataclass(frozen=True, slots=True)
class Vantage:
    """What a worker says of the place it measures from."""

    name: str
    box_kind: str
    hostname: str
    kernel: str
    clients: tuple[InstalledClient, ...] = ()
    trouble: str = ""
    """Why nothing can be measured there now; empty when it can."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker process says of itself."""

    id: str
    version: str
    """Of lastbyte; during an upgrade old and new ones work side by side."""
    hostname: str
    pid: int
    cell_id: int | None = None
    """What it measures now."""
    trouble: str = ""
    """Why it can't measure now; empty when it can."""


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A worker with its last heartbeat."""

    worker: Worker
    started_at: datetime
    last_seen_at: datetime
    alive: bool
    """True when a heartbeat came within the last 30 seconds; a worker that ends in peace is not listed."""


@dataclass(frozen=True, slots=True)
class SeenVantage:
    """A vantage with its last heartbeat."""

    vantage: Vantage
    last_seen_at: datetime
    alive: bool
    """True when a heartbeat of any of its workers came within the last 30 seconds."""
    workers: tuple[SeenWorker, ...] = ()
    """Those that were heard of within the last hour."""


class VantageStore(Protocol):
    """Where workers are."""

    def heartbeat(self, vantage: Vantage, worker: Worker | None = None) -> None:
        """Say that the vantage is alive and what it has, and which of its workers says so."""

    def leave(self, worker_id: str) -> None:
        """Say that a worker ends in peace."""

    def vantages(self) -> list[SeenVantage]:
        """By name."""

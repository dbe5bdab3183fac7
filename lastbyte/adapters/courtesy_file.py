"""Courtesy of ``lastbyte measure``: what was asked of hosts that are not ours today, in one file of this machine.

It is the workers' daily budget (``lastbyte.adapters.postgres.courtesy``) without a database: counted per host and UTC
day, before each request; two runs at the same time count together, by a lock on a file beside it (flock(2)).
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from lastbyte.domain.courtesy import CourtesyBudget, Permission
from lastbyte.domain.errors import Unavailable
from lastbyte.settings import cache_dir


def courtesy_file() -> Path:
    """Where it lies."""
    return cache_dir() / "courtesy.json"


@dataclass(slots=True)
class _Used:
    requests: int = 0
    bytes: int = 0
    last_at: float = 0.0
    """End of the last fetch, in seconds since the epoch."""


class CourtesyFile:
    """One host's budget. A file that can't be read counts as empty; one that can't be written raises Unavailable."""

    def __init__(
        self,
        host: str,
        budget: CourtesyBudget,
        file: Path | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._host = host
        self._budget = budget
        self._file = file or courtesy_file()
        self._now = now
        self.refused: Permission | None = None
        """The last refusal, if there was one."""

    def reserve(self) -> Permission:
        """Count one request, unless the day's budget is used up; says how long to wait before it."""
        now, budget = self._now(), self._budget
        with self._today() as hosts:
            used = hosts.setdefault(self._host, _Used())
            if used.requests >= budget.requests_per_day or used.bytes >= budget.bytes_per_day:
                midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
                self.refused = Permission(granted=False, reason=self._spent(used), not_before=midnight)
                return self.refused
            used.requests += 1
            wait_s = used.last_at + budget.min_gap_s - now.timestamp()
        return Permission(granted=True, wait_s=min(max(0.0, wait_s), budget.min_gap_s))

    def ended(self, body_bytes: int) -> None:
        """Count what a request brought."""
        with self._today() as hosts:
            used = hosts.setdefault(self._host, _Used())
            used.bytes += body_bytes
            used.last_at = self._now().timestamp()

    def _spent(self, used: _Used) -> str:
        requests = f"{used.requests} of {self._budget.requests_per_day} requests"
        size = f"{used.bytes / 1e9:.2f} of {self._budget.bytes_per_day / 1e9:g} GB"
        return f"The day's budget for {self._host} is used up ({requests}, {size}); it goes on after midnight UTC."

    @contextmanager
    def _today(self) -> Iterator[dict[str, _Used]]:
        """What all hosts have used today; written back when the block ends.

        A new file takes the old one's place, so a crash or a full disk loses no count; the lock is a file of its own.
        """
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as exc:
            raise self._not_counted(exc) from exc
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            today = self._now().date().isoformat()
            hosts = _read(self._file, today)
            yield hosts
            document = {"day": today, "hosts": {n: [u.requests, u.bytes, u.last_at] for n, u in hosts.items()}}
            new = self._file.with_suffix(".new")
            try:
                new.write_text(json.dumps(document), encoding="utf-8")
                new.replace(self._file)
            except OSError as exc:
                raise self._not_counted(exc) from exc
        finally:
            os.close(descriptor)

    def _not_counted(self, exc: OSError) -> Unavailable:
        return Unavailable(
            f"Requests to {self._host} can't be counted: {self._file} can't be written ({exc.strerror}). "
            "Make it writable, or name another cache folder by LASTBYTE_CACHE."
        )


def _read(file: Path, today: str) -> dict[str, _Used]:
    """The file's counts; none of another day, and none when it is broken."""
    try:
        document = json.loads(file.read_bytes())
        if document["day"] != today:
            return {}
        return {
            str(host): _Used(int(requests), int(used), float(at))
            for host, (requests, used, at) in document["hosts"].items()
        }
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}

"""API keys: who may do what."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime


class Scope(enum.StrEnum):
    """What a key allows; each includes those before it."""

    READ = "read"
    """Look at everything."""
    SCHEDULE = "schedule"
    """Also create, steer and compare campaigns and schedules."""
    ADMIN = "admin"
    """Also change the catalogue and budgets, delete, and measure ports other than 443."""

    def includes(self, other: Scope) -> bool:
        """Whether who has this one may do what ``other`` allows."""
        order = list(Scope)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored: without its secret."""

    id: int
    name: str
    prefix: str
    """First part of the key, by which people and we find it."""
    secret_sha256: str
    """Of a secret of 256 random bits, which needs no slow hash: there is nothing to guess."""
    scope: Scope
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    requests_per_minute: int | None = None
    """None: the default of the service."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    name: str
    scope: Scope
    key_id: int | None = None
    """None: a key of the environment, or nobody has to show one."""
    requests_per_minute: int | None = None


ANYBODY = Caller("anybody", Scope.ADMIN)
"""Where no keys are asked for."""

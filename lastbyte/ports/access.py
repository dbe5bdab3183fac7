"""Where API keys are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from lastbyte.domain.access import ApiKey, Scope


class KeyStore(Protocol):
    """Where API keys are kept. Methods raise StoreUnavailable while it can't be reached."""

    def add(
        self,
        name: str,
        prefix: str,
        secret_sha256: str,
        scope: Scope,
        expires_at: datetime | None,
        requests_per_minute: int | None,
    ) -> ApiKey:
        """Raises Conflict when a key that is not revoked has the name."""

    def find(self, prefix: str) -> ApiKey | None:
        """By its first part, revoked and expired ones too."""

    def keys(self) -> list[ApiKey]:
        """Newest first."""

    def revoke(self, name_or_prefix: str) -> ApiKey:
        """Raises NotFound when there is none that is not revoked."""

    def touch(self, key_id: int) -> None:
        """Note that it was used now; at most once a minute is written."""

    def any_usable(self) -> bool:
        """Whether there is a key that is neither revoked nor expired."""

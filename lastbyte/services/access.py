"""API keys: made, recognised, revoked."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from lastbyte.domain.access import ApiKey, Caller, Scope
from lastbyte.domain.errors import InvalidInput
from lastbyte.ports import KeyStore

MARK = "lb"
"""Keys begin with it, so that scanners of repositories can find one that leaked."""
MIN_OWN_KEY_LENGTH = 32
_KEY = re.compile(rf"{MARK}_(?P<prefix>[a-z0-9]{{8}})_(?P<secret>[A-Za-z0-9_-]{{43}})")
_PREFIX_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,99}")

REMEMBERED_S = 5.0
"""A revoked key works for at most so long in a process that has just seen it."""
_REMEMBERED = 1000
_TOUCH_EVERY_S = 60.0


def new_key() -> str:
    """A random key: a mark, a prefix to find it by, and 256 bits that nobody can guess."""
    prefix = "".join(secrets.choice(_PREFIX_ALPHABET) for _ in range(8))
    return f"{MARK}_{prefix}_{secrets.token_urlsafe(32)}"


def create_key(
    store: KeyStore,
    name: str,
    scope: Scope,
    expires_in: timedelta | None = None,
    requests_per_minute: int | None = None,
) -> tuple[str, ApiKey]:
    """Store a new key; the key itself is known only to whoever gets this answer. Raises InvalidInput and Conflict."""
    if not _NAME.fullmatch(name):
        raise InvalidInput("name", f"{name!r} is no name.", "Letters, digits, space and . _ @ -, at most 100.")
    if expires_in is not None and expires_in <= timedelta(0):
        raise InvalidInput("expires", "lies in the past.")
    if requests_per_minute is not None and requests_per_minute < 1:
        raise InvalidInput("rate", "must be at least 1 request per minute.")
    key = new_key()
    prefix, digest = _parts(key)
    expires_at = datetime.now(UTC) + expires_in if expires_in is not None else None
    return key, store.add(name, prefix, digest, scope, expires_at, requests_per_minute)


class Doorkeeper:
    """Tells who shows a key. ``own_key`` is one from the environment, with all rights; empty: none."""

    def __init__(self, store: KeyStore, own_key: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        if own_key and len(own_key) < MIN_OWN_KEY_LENGTH:
            remedy = "Make one: lastbyte key generate"
            raise InvalidInput("LASTBYTE_API_KEY", f"has fewer than {MIN_OWN_KEY_LENGTH} characters.", remedy)
        self._store = store
        self._own_sha256 = _sha256(own_key) if own_key else ""
        self._clock = clock
        self._lock = threading.Lock()
        self._remembered: dict[str, tuple[float, ApiKey | None]] = {}
        self._touched: dict[int, float] = {}

    def recognise(self, shown: str) -> Caller | None:
        """Who shows this key; None when it is unknown, expired or revoked. Raises StoreUnavailable."""
        if self._own_sha256 and hmac.compare_digest(_sha256(shown), self._own_sha256):
            return Caller("environment", Scope.ADMIN)
        if not _KEY.fullmatch(shown):
            return None
        prefix, digest = _parts(shown)
        key = self._find(prefix)
        if key is None or not hmac.compare_digest(digest, key.secret_sha256) or not usable(key):
            return None
        self._touch(key.id)
        return Caller(key.name, key.scope, key.id, key.requests_per_minute)

    def any_key(self) -> bool:
        """Whether anybody could come in. Raises StoreUnavailable."""
        return bool(self._own_sha256) or self._store.any_usable()

    def _find(self, prefix: str) -> ApiKey | None:
        now = self._clock()
        with self._lock:
            seen = self._remembered.get(prefix)
        if seen is not None and now - seen[0] < REMEMBERED_S:
            return seen[1]
        key = self._store.find(prefix)
        with self._lock:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[prefix] = (now, key)
        return key

    def _touch(self, key_id: int) -> None:
        now = self._clock()
        with self._lock:
            due = now - self._touched.get(key_id, -_TOUCH_EVERY_S) >= _TOUCH_EVERY_S
            if due:
                self._touched[key_id] = now
        if due:
            self._store.touch(key_id)


def usable(key: ApiKey) -> bool:
    """Neither revoked nor expired."""
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > datetime.now(UTC))


def _parts(key: str) -> tuple[str, str]:
    _, prefix, _ = key.split("_", 2)
    return prefix, _sha256(key)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

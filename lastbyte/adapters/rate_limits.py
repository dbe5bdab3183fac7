"""Requests per minute and key, counted in Redis for all processes together, by the library ``limits``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import ceil

from limits import RateLimitItemPerMinute
from limits.errors import ConfigurationError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis.exceptions import RedisError

WINDOW_S = 60
_TIMEOUT_S = 0.5
_REST_AFTER_TROUBLE_S = 10.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a key has left."""

    granted: bool
    limit: int
    """Requests per minute."""
    remaining: int
    reset_s: int
    """Seconds until the window is new."""


class RateLimits:
    """Counts in the broker's Redis; while that is away each process counts for itself, so that nobody is locked out."""

    def __init__(self, broker_url: str) -> None:
        self._alone = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared = _shared(broker_url)
        self._rest_until = 0.0

    def take(self, who: str, requests_per_minute: int) -> Allowance:
        """Count one request of ``who``."""
        item = RateLimitItemPerMinute(requests_per_minute)
        if self._shared is not None and time.monotonic() >= self._rest_until:
            try:
                return _take(self._shared, item, who)
            except (RedisError, OSError):
                self._rest_until = time.monotonic() + _REST_AFTER_TROUBLE_S
        return _take(self._alone, item, who)


def _take(limiter: SlidingWindowCounterRateLimiter, item: RateLimitItemPerMinute, who: str) -> Allowance:
    granted = limiter.hit(item, "key", who)
    stats = limiter.get_window_stats(item, "key", who)
    reset_s = max(1, ceil(stats.reset_time - time.time()))
    return Allowance(granted, item.amount, max(0, stats.remaining), min(reset_s, WINDOW_S))


def _shared(broker_url: str) -> SlidingWindowCounterRateLimiter | None:
    """None for a broker that is no Redis."""
    url = broker_url.replace("redis+socket://", "unix://")
    if not url.startswith(("redis://", "rediss://", "unix://")):
        return None
    # RedisStorage hands everything but its own "redis+unix" on to redis.from_url
    url = url.replace("unix://", "redis+unix://")
    try:
        storage = RedisStorage(
            url, key_prefix="lastbyte-rate", socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S
        )
    except (ConfigurationError, RedisError, OSError):
        return None
    return SlidingWindowCounterRateLimiter(storage)

"""Where the API can be reached from, and whether keys are asked for there.

Without keys anybody who reaches the API may use it, so it then answers on loopback only: a start that would bind
elsewhere is refused, and so is a connection that came in by another address all the same.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from lastbyte.domain.errors import InvalidInput, StoreUnavailable
from lastbyte.services.access import Doorkeeper
from lastbyte.settings import KeysWanted, Settings

REMEDY = (
    "Set LASTBYTE_API_KEY (lastbyte key generate), or create keys (lastbyte key create NAME --scope read), "
    "or bind to 127.0.0.1."
)


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there; a unix socket counts as such."""
    if host in ("localhost", "") or host.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bound_host(settings: Settings, argv: Sequence[str] = tuple(sys.argv)) -> str:
    """Where people reach this process: the published address, else what uvicorn's command line says, else api_host."""
    if settings.api_published:
        host, _, _ = settings.api_published.rpartition(":")
        return host or "0.0.0.0"  # noqa: S104 - a port alone is published everywhere
    program = Path(argv[0]).name if argv else ""
    if program == "uvicorn" or (program == "__main__.py" and "uvicorn" in str(argv[0])):
        for index, word in enumerate(argv):
            if word == "--host" and index + 1 < len(argv):
                return argv[index + 1]
            if word.startswith("--host="):
                return word.removeprefix("--host=")
        return os.environ.get("UVICORN_HOST", "127.0.0.1")
    return settings.api_host


def keys_asked_for(settings: Settings, host: str) -> bool:
    """Whether callers must show a key. Raises InvalidInput where none would be asked for although others reach it."""
    if settings.keys is KeysWanted.REQUIRED:
        return True
    if is_loopback(host):
        return False
    if settings.keys is KeysWanted.OFF:
        raise InvalidInput(
            "LASTBYTE_KEYS", f"is off, but the API would listen on {host}, where others reach it.", REMEDY
        )
    return True


def refuse_without_keys(doorkeeper: Doorkeeper, host: str) -> None:
    """End the start when keys are asked for and there is none; with the database away nobody comes in anyway."""
    try:
        if doorkeeper.any_key():
            return
    except StoreUnavailable:
        return
    raise InvalidInput("API keys", f"there is none, but the API would listen on {host}, where others reach it.", REMEDY)

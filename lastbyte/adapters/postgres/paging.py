"""Cursors: opaque to the caller, the last key of the page before to us."""

from __future__ import annotations

import base64
import binascii
import json

from lastbyte.domain.errors import InvalidInput


def encode(*key: str | int) -> str:
    """A cursor that stands after the item with this key."""
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).rstrip(b"=").decode()


def decode(cursor: str, *kinds: type) -> list[str | int]:
    """The key in ``cursor``; raises InvalidInput unless it has just these kinds of values."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError) as exc:
        raise _not_a_cursor() from exc
    if not isinstance(key, list) or [type(value) for value in key] != list(kinds):
        raise _not_a_cursor()
    if any(isinstance(value, int) and not 0 <= value < 2**63 for value in key):
        raise _not_a_cursor()
    return key


def _not_a_cursor() -> InvalidInput:
    return InvalidInput("cursor", "is not one of ours.", "Use the value of next from the page before, unchanged.")

"""Reading the files of an import: text, JSON and numbers, each error with its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from lastbyte.services.imported import BadPlace

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A JSON file of samples is some kilobytes; what is far larger is something else."""


class Unreadable(Exception):
    """A place in a file that can't be used; becomes a ``BadPlace``."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason

    def at(self, file: Path) -> BadPlace:
        """With the file that it is in."""
        return BadPlace(str(file), self.place, self.reason)


def read_text(file: Path) -> str:
    """The whole file as UTF-8; raises Unreadable."""
    try:
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise Unreadable("", f"is {size} bytes long; samples are far smaller.")
        return file.read_bytes().decode("utf-8-sig")  # line ends as they are: a CSV may be cut within one
    except UnicodeDecodeError as exc:
        raise Unreadable(f"byte {exc.start}", "is not UTF-8 text.") from exc
    except OSError as exc:
        raise Unreadable("", f"can't be read: {exc.strerror}.") from exc


def parse_json(text: str) -> Any:
    """The document; raises Unreadable naming line and column. NaN and Infinity are not JSON (RFC 8259)."""
    if not text.strip():
        raise Unreadable("line 1", "the file is empty.")
    try:
        return _whole_text(json.loads(text, parse_constant=_refuse_constant), text)
    except UnicodeEncodeError as exc:
        raise Unreadable("", "holds half of a surrogate pair, which is no character.") from exc
    except json.JSONDecodeError as exc:
        end = text.rstrip()
        cut = " The file looks truncated." if exc.pos >= len(end) or end[-1] not in "]}" else ""
        raise Unreadable(f"line {exc.lineno} column {exc.colno}", f"is not JSON: {exc.msg}.{cut}") from exc
    except RecursionError as exc:
        raise Unreadable("line 1", "is nested too deeply.") from exc
    except ValueError as exc:  # integers of thousands of digits
        raise Unreadable("", f"is not JSON: {exc}.") from exc


def finite_number(value: object, place: str) -> float:
    """A JSON number as a float; raises Unreadable for anything else (booleans and text are not numbers)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(place, f"{_short(value)} is not a number.")
    try:
        number = float(value)
    except OverflowError as exc:
        raise Unreadable(place, "the number is too large.") from exc
    if not math.isfinite(number):
        raise Unreadable(place, f"{_short(value)} is not a finite number.")
    return number


def folders(folder: Path) -> Iterator[Path]:
    """Folders in it by name, hidden ones left out."""
    return (entry for entry in sorted(folder.iterdir()) if entry.is_dir() and not entry.name.startswith("."))


def _whole_text(document: Any, text: str) -> Any:
    """``document``; raises UnicodeEncodeError when an escape in it made half of a surrogate pair."""
    if "\\u" in text:
        json.dumps(document, ensure_ascii=False).encode()
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise Unreadable("", f"holds {name}, which is not a number and not JSON.")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."

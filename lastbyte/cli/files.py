"""Files that commands write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from lastbyte.domain.errors import InvalidInput


@contextmanager
def written(file: Path) -> Iterator[IO[bytes]]:
    """A file to write that appears under its name only when all of it is written."""
    draft = file.with_name(file.name + ".part")
    try:
        out = draft.open("wb")
    except OSError as exc:
        raise InvalidInput(str(file), f"can't be written: {exc.strerror}.") from exc
    try:
        with out:
            yield out
        draft.replace(file)
    except OSError as exc:
        raise InvalidInput(str(file), f"can't be written: {exc.strerror}.") from exc
    finally:
        draft.unlink(missing_ok=True)

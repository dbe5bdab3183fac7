"""Ceilings of the clients on this machine: ``<cache>/ceilings.json``, one for each client and build.

The worker tells them to PostgreSQL with its heartbeat and with the record of each cell.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from lastbyte.domain.ceiling import Ceiling
from lastbyte.settings import cache_dir

_FORMAT = "lastbyte-ceilings/1"


def ceilings_file() -> Path:
    """Where they lie."""
    return cache_dir() / "ceilings.json"


def load_ceilings(file: Path | None = None) -> list[Ceiling]:
    """All that are known; none when nothing was measured yet or the file can't be read."""
    try:
        data = json.loads((file or ceilings_file()).read_text(encoding="utf-8"))
        return [
            Ceiling(**{**item, "measured_at": datetime.fromisoformat(item["measured_at"])}) for item in data["ceilings"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def save_ceilings(new: Sequence[Ceiling], file: Path | None = None) -> Path:
    """Add these, or put them in the place of those of the same client and build, in one step."""
    path = file or ceilings_file()
    kept = {(item.client_id, item.sha256): item for item in [*load_ceilings(path), *new]}
    document = {
        "format": _FORMAT,
        "ceilings": [
            {**dataclasses.asdict(item), "measured_at": item.measured_at.isoformat()} for item in kept.values()
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)
    return path

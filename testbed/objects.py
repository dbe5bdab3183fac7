"""The objects that the testbed serves: incompressible bytes that are the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from testbed.catalogue import OBJECTS


def content(size_label: str) -> bytes:
    """Bytes of the object, from SHAKE256 (FIPS 202) over its label: random-looking, and constant for ever."""
    return hashlib.shake_256(f"lastbyte testbed {size_label}".encode()).digest(OBJECTS[size_label])


def write_objects(folder: Path) -> Mapping[str, str]:
    """Write each object as ``<label>.bin`` below ``folder`` where it is missing; returns label to SHA-256."""
    folder.mkdir(parents=True, exist_ok=True)
    digests = {}
    for label, size in OBJECTS.items():
        data = content(label)
        digests[label] = hashlib.sha256(data).hexdigest()
        target = folder / f"{label}.bin"
        if not target.is_file() or target.stat().st_size != size or target.read_bytes() != data:
            partial = target.with_suffix(".part")
            partial.write_bytes(data)
            partial.replace(target)
    return digests

"""The objects that the testbed serves: incompressible bytes that are the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from testbed.catalogue import FAULTS, OBJECTS, PROVIDERS
from testbed.pages import write_pages

NEVER_LOADS = f"""<!doctype html>
<html lang="en"><head><title>A page whose load event never comes</title><link rel="icon" href="data:,"></head>
<body><p>Waits for a script.</p><script src="https://{FAULTS.host}/stall.bin"></script></body></html>
"""


def content(size_label: str) -> bytes:
    """Bytes of the object, from SHAKE256 (FIPS 202) over its label: random-looking, and constant for ever."""
    return hashlib.shake_256(f"lastbyte testbed {size_label}".encode()).digest(OBJECTS[size_label])


def write_objects(folder: Path) -> Mapping[str, str]:
    """Write each object as ``<label>.bin``, and the pages, below ``folder`` where missing; returns label to SHA-256."""
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
    for provider in PROVIDERS:
        write_pages(folder, provider.name, provider.host)
    (folder / "never-loads.html").write_text(NEVER_LOADS)
    return digests

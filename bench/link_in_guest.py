"""The ``kernel`` box's share of the link benchmark, where this machine's kernel has no netem: inside a guest.

Everything in a User-Mode Linux guest is slower than on a machine of its own, and its one CPU also runs the measuring
itself, so the figures are the least that the kernel box reaches. The guest runs at real-time priority, as the uml box
does; rates that its one CPU can't send are left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.guest import run_in_guest
from netem import kernel_box

TIMEOUT_S = 900.0
_FIGURES = "guest-figures "
_SCRIPT = """\
"$1" -u -m bench link --json /dev/shm/figures.json
code=$?
printf %s "$2"
tr -d '\\n' < /dev/shm/figures.json
echo
exit $code
"""


def run() -> dict[str, Any]:
    """The figures of ``bench link`` in the guest; none where this kernel has netem and ``link`` gave them."""
    if kernel_box.status().usable:
        print("This kernel has netem: the link benchmark covers the kernel box.")
        return {"goals": [], "rows": []}

    def show(line: str) -> None:
        if not line.startswith(_FIGURES):
            print(f"    guest: {line}", flush=True)

    with tempfile.TemporaryDirectory(prefix="lastbyte-bench-") as folder:
        command = ["sh", "-c", _SCRIPT, "sh", sys.executable, _FIGURES]
        result = run_in_guest(Path(folder), command, TIMEOUT_S, show, at_once=True)
    found = [line.removeprefix(_FIGURES) for line in result.lines if line.startswith(_FIGURES)]
    if not found:
        raise RuntimeError(f"the guest ended without figures: exit code {result.exit_code}")
    figures: dict[str, Any] = json.loads(found[0])["link"]
    return figures

"""The API loads SciPy before somebody asks for a heatmap, and not while it is imported; then it settles its memory."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import asyncio, gc, sys
import api.app
assert "scipy.stats" not in sys.modules, "importing the API must stay quick"
api.app.WARM_UP_AFTER_S = 0
asyncio.run(api.app._warm_up())
assert "scipy.stats" in sys.modules, "the first heatmap would wait for SciPy"
assert "ruptures" in sys.modules, "the first trends would wait for ruptures"
assert gc.get_freeze_count() > 100_000, "garbage collection would look at every module again"
"""


def test_the_warm_up_loads_what_heatmaps_need() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr

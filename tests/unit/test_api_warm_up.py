"""The API loads SciPy before somebody asks for a heatmap, and not while it is imported."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import asyncio, sys
import api.app
assert "scipy.stats" not in sys.modules, "importing the API must stay quick"
api.app.WARM_UP_AFTER_S = 0
asyncio.run(api.app._warm_up())
assert "scipy.stats" in sys.modules, "the first heatmap would wait for SciPy"
"""


def test_the_warm_up_loads_what_heatmaps_need() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr

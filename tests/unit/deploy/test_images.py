"""What the Dockerfile leaves out of the images is needed by none of the programs that run there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {left_out}:
            raise ModuleNotFoundError(f"No module named {{name!r}}: left out of the image")
sys.meta_path.insert(0, Refuse())
import {program}
"""


@pytest.mark.parametrize("program", ["worker.__main__", "worker.beat", "migrations.run", "testbed.__main__"])
def test_no_program_imports_what_its_image_lacks(program: str) -> None:
    recipe = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    left_out = {name.replace("-", "_") for name in re.findall(r"--prune ([a-z-]+)", recipe)}
    assert {"dash", "fastapi", "pyarrow"} <= left_out
    code = WITHOUT.format(left_out=left_out, program=program)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]

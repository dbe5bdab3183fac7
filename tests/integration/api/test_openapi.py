"""The API keeps the promises of its own OpenAPI document. ``make fuzz`` is the long form."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

CASES = int(os.environ.get("FUZZ_CASES", "0"))
"""Cases to reach at least, by as many examples per operation as that takes; 0: the short form."""

SHORT = 2
"""Examples per operation and phase; the coverage phase makes some thousand cases besides."""


def test_schemathesis_finds_nothing(base_url: str, tmp_path: Path) -> None:
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        f"{base_url}/openapi.json",
        f"--max-examples={max(SHORT, CASES // 200)}",
        "--phases=examples,coverage,fuzzing,stateful",
        "--checks=all",
        # a name of the right form may still be unknown: 422, which no schema can say
        "--exclude-checks=positive_data_acceptance",
        "--workers=1",
        f"--seed={os.environ.get('FUZZ_SEED', '1')}",
        "--no-color",
    ]
    environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path)}
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=3000, check=False, cwd=tmp_path, env=environment
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
    generated = re.search(r"(\d+) generated", result.stdout)
    assert generated is not None, result.stdout[-2000:]
    assert int(generated[1]) >= max(CASES, 1000), result.stdout[-2000:]
    print(generated[0])

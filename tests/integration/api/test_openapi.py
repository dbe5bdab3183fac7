"""The API keeps the promises of its own OpenAPI document."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_schemathesis_finds_nothing(base_url: str, tmp_path: Path) -> None:
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        f"{base_url}/openapi.json",
        "--max-examples=25",
        "--phases=examples,coverage,fuzzing,stateful",
        "--checks=all",
        # a name of the right form may still be unknown: 422, which no schema can say
        "--exclude-checks=positive_data_acceptance",
        "--workers=1",
        "--seed=1",
        "--no-color",
    ]
    environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path)}
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=240, check=False, cwd=tmp_path, env=environment
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]

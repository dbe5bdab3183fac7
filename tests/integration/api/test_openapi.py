"""The API keeps the promises of its own OpenAPI document. ``make fuzz`` is the long form."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine

from tests.integration.test_operations import measured_campaign

CASES = int(os.environ.get("FUZZ_CASES", "0"))
"""Cases to reach at least, by as many examples per operation as that takes; 0: the short form."""

EXAMPLES_SHARE = 60
"""Of CASES, one in so many is made per operation: with 166 of them some 11,000 cases. The coverage phase makes about
6,500 whatever is asked for, and operations with little to vary run out of different requests before that."""

SHORT = 2
"""Examples per operation and phase; the coverage phase makes some thousand cases besides."""

REQUEST_LIMIT_S = 60
"""A machine may be busy; how fast answers are is measured in bench/."""


def test_schemathesis_finds_nothing(
    base_url: str, engine: Engine, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    measured_campaign(engine)  # something to find, for requests that follow from answers
    httpx.get(f"{base_url}/openapi.json", timeout=120).raise_for_status()  # made once, at the first request
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        f"{base_url}/openapi.json",
        f"--max-examples={max(SHORT, CASES // EXAMPLES_SHARE)}",
        "--phases=examples,coverage,fuzzing,stateful",
        "--checks=all",
        # a name of the right form may still be unknown: 422, which no schema can say
        "--exclude-checks=positive_data_acceptance",
        "--workers=1",
        f"--request-timeout={REQUEST_LIMIT_S}",
        f"--max-response-time={REQUEST_LIMIT_S}",
        "--suppress-health-check=too_slow",
        f"--seed={os.environ.get('FUZZ_SEED', '1')}",
        "--no-color",
    ]
    environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path)}
    code, output = _told_as_it_goes(command, tmp_path, environment, capfd)
    assert code == 0, output[-8000:]
    generated = re.search(r"(\d+) generated", output)
    assert generated is not None, output[-2000:]
    assert int(generated[1]) >= max(CASES, 1000), output[-2000:]


def _told_as_it_goes(
    command: list[str], folder: Path, environment: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Exit code and output of a program whose lines are printed as they come: the long form takes a while."""
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment
    ) as program:
        assert program.stdout is not None
        for line in program.stdout:
            with capfd.disabled() if CASES else nullcontext():
                print(line, end="", flush=True)
            lines.append(line)
    return program.returncode, "".join(lines)

"""The ``kernel`` box, tested on a kernel that has netem: these same tests, inside a User-Mode Linux guest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.guest import ROOT
from lastbyte.domain.errors import PathUnavailable
from netem import uml_box
from tests.integration.netem.guest import run_pytest

TESTS = ("test_shaping.py", "test_conditions.py", "test_lifetime.py", "test_uplinks.py")


@pytest.mark.skipif("LASTBYTE_IN_GUEST" in os.environ, reason="this is the guest")
@pytest.mark.timeout(1200)
def test_the_kernel_box_in_a_guest(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        uml_box.find_kernel()
    except PathUnavailable as exc:
        pytest.skip(str(exc))
    folder = Path(__file__).resolve().parent.relative_to(ROOT)
    files = [str(folder / name) for name in TESTS]

    def show(line: str) -> None:
        with capfd.disabled():
            print(f"    guest: {line}", flush=True)

    result = run_pytest(tmp_path, ["-q", "--durations=5", *files], 1150, show)
    show(f"{result.passed} tests passed in the guest, {result.skipped} skipped, {result.elapsed_s:.0f} s in all")
    assert result.exit_code == 0, result.output
    assert result.passed >= 34
    assert result.skipped <= 1

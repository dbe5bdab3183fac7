"""An engine, images and one composed system for all tests here; Chromium as the dashboard's tests use it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.compose.system import System, engine_trouble
from tests.e2e.dashboard.conftest import browser, open_page

__all__ = ["browser", "open_page"]


@pytest.fixture(scope="session")
def system() -> Iterator[System]:
    if trouble := engine_trouble():
        pytest.skip(f"no container engine here, so docker-compose.yml is NOT tested: {trouble}")
    made = System()
    try:
        began = time.monotonic()
        for left in (made.compose, made.remote):  # of a run that was killed
            left("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5")
        made.build()
        print(f"\nimages built in {time.monotonic() - began:.0f} s")
        yield made
    finally:
        made.close()

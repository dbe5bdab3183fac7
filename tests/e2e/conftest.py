"""One running system for all browser tests: with the demo campaign, as after ``make run``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stack import Stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    with Stack() as running:
        yield running

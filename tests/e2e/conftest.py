"""One running system for all browser tests: with the demo campaign, as after ``make run``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stack import Stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    with Stack() as running:
        running.until(lambda: _has_demo(running) or None, "the demo campaign", 120.0)  # it is posted into an empty list
        yield running


def _has_demo(running: Stack) -> bool:
    items = running.http.get("/campaigns").raise_for_status().json()["items"]
    return any(item["name"] == "demo" for item in items)

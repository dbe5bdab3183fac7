"""``aria-`` and ``data-`` attributes, which are no Python names."""

from __future__ import annotations

from typing import Any


def aria(**values: str) -> dict[str, Any]:
    """``aria(label="x")`` for ``**{"aria-label": "x"}``."""
    return {f"aria-{name}": value for name, value in values.items()}


def data(**values: str) -> dict[str, Any]:
    """``data(label="x")`` for ``**{"data-label": "x"}``."""
    return {f"data-{name}": value for name, value in values.items()}

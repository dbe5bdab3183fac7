"""Log lines of the worker."""

from __future__ import annotations

from lastbyte.adapters import logs
from lastbyte.settings import settings


def configure(service: str = "worker") -> None:
    """As all processes of lastbyte log."""
    logs.configure(service, settings().log_format)

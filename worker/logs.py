"""Log lines of the worker: one event per line with its time in UTC."""

from __future__ import annotations

import sys

import structlog


def configure() -> None:
    """Plain key=value lines on standard error, without colours when it is no terminal."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )

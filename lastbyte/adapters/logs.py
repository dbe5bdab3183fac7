"""Structured log lines of every process, structlog's and the standard library's alike: one event per line, UTC.

What is bound by ``structlog.contextvars`` (request, campaign, cell, trial) stands in each line that follows.
"""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import Processor

_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure(service: str, form: str = "auto") -> None:
    """``form``: json, console, or auto (console on a terminal, else key=value lines on standard error)."""
    renderer: Processor
    if form == "json":
        renderer = structlog.processors.JSONRenderer()
    elif form == "console" or sys.stderr.isatty():
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    else:
        renderer = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], bool_as_flag=False)
    tail: list[Processor] = [structlog.processors.format_exc_info, _naming(service), renderer]
    structlog.configure(
        processors=[*_SHARED, *tail],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,  # else each line puts its logger together anew
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_SHARED, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *tail],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _naming(service: str) -> Processor:
    def add(_logger: object, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event["service"] = service
        return event

    return add

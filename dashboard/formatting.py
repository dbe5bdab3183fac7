"""Numbers, sizes, times and durations as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

NBSP = "\u00a0"
MINUS = "\u2212"
DASH = "\u2013"
"""Stands where there is no value."""


MANY = 100.0
"""From so many percent on a decimal says nothing, and takes room."""


def signed_pct(value: float, decimals: int = 1) -> str:
    """``+12.3 %``; a value that rounds to zero has no sign, one from 100 on no decimals."""
    return f"{_signed(value, decimals if abs(value) < MANY else 0)}{NBSP}%"


def interval(low: float, high: float) -> str:
    """Bounds of an interval in percent, without the unit: ``+8.1 … +16.0``; both alike ``+175 … +286``."""
    decimals = 1 if max(abs(low), abs(high)) < MANY else 0
    return f"{_signed(low, decimals)}{NBSP}…{NBSP}{_signed(high, decimals)}"


def _signed(value: float, decimals: int) -> str:
    text = f"{abs(value):.{decimals}f}"
    if float(text) == 0:
        return text
    return (MINUS if value < 0 else "+") + text


def number(value: float) -> str:
    """Shortest decimal: ``0.1``, ``50``."""
    return f"{value:g}"


def ms(value: float | None) -> str:
    """Milliseconds with as many digits as matter; a dash for None."""
    if value is None:
        return DASH
    decimals = 0 if value >= 100 else 1
    return f"{value:,.{decimals}f}{NBSP}ms"


def size_label(label: str) -> str:
    """``100KB`` as ``100 KB``; other labels as they are."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?B)", label)
    return f"{match[1]}{NBSP}{match[2]}" if match else label


def amount(value: float) -> str:
    """Bytes in decimal units: ``1.5 GB``."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= factor:
            scaled = value / factor
            return f"{scaled:.0f}{NBSP}{unit}" if scaled >= 10 else f"{scaled:.1f}{NBSP}{unit}"
    return f"{value:.0f}{NBSP}B"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3 h 20 min``, ``4 days``."""
    if seconds < 90:
        return f"{max(1, round(seconds))}{NBSP}s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes}{NBSP}min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}{NBSP}h" + (f" {rest}{NBSP}min" if rest else "")
    return f"{round(hours / 24)}{NBSP}days"


def plural(count: int, noun: str) -> str:
    """``1 cell``, ``15 cells``."""
    return f"{count:,}{NBSP}{noun}" + ("" if count == 1 else "s")


def parse_time(text: str) -> datetime:
    """RFC 3339 time of the API."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def when(text: str | None, zone: str, now: datetime | None = None) -> str:
    """A time of the API in the viewer's zone: ``today 14:05``, ``20 Nov 14:05``, ``20 Nov 2025 14:05``."""
    if not text:
        return DASH
    tz = viewer_zone(zone)
    moment = parse_time(text).astimezone(tz)
    today = (now or datetime.now(UTC)).astimezone(tz)
    clock = f"{moment:%H:%M}"
    if moment.date() == today.date():
        return f"today {clock}"
    day = f"{moment.day} {moment:%b}"
    return f"{day} {clock}" if moment.year == today.year else f"{day} {moment.year} {clock}"


def exact_time(text: str | None, zone: str) -> str:
    """The same with seconds and zone, for tooltips and tables."""
    if not text:
        return DASH
    return f"{parse_time(text).astimezone(viewer_zone(zone)):%Y-%m-%d %H:%M:%S %Z}"


def viewer_zone(name: str) -> ZoneInfo:
    """The zone that the browser named; UTC when this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")

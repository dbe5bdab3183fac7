"""Cron expressions with time zones: checked, put into words, and asked for their next times.

``cronsim`` reads them as Debian's cron does. What that means where clocks change:

* An expression whose minute and hour are given ("30 2 * * *", "0 1-3 * * *") follows the wall clock. In the hour that
  is skipped it starts at the first minute after the gap, once; in the hour that comes twice, the first time only.
* An expression whose minute or hour begins with a star ("*/15 * * * *", "*/15 2 * * *", "0 * * * *") follows elapsed
  time: what falls into a skipped hour is left out, what falls into a doubled hour happens in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from lastbyte.domain.errors import InvalidInput

FIELDS = 5
MAX_LENGTH = 200
CRON_FIELD = "cron"
ZONE_FIELD = "time_zone"

_REMEDY = 'Five fields: minute hour day-of-month month day-of-week, for example "15 3 * * *" for 03:15 every day.'
_LOOK_AHEAD = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A moment at which the clocks of a zone are set."""

    at: datetime
    """In the zone, after the change."""
    shift: timedelta
    """Forward above zero."""


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def zone(name: str) -> ZoneInfo:
    """The time zone with an IANA name; raises InvalidInput on ``time_zone``."""
    if name not in _zones():
        folded = name.casefold().replace(" ", "_")
        like = sorted(known for known in _zones() if known.casefold().rpartition("/")[2] == folded.rpartition("/")[2])
        hint = f"Did you mean {', '.join(like[:3])}?" if like else "Examples: UTC, Europe/Berlin, America/New_York."
        raise InvalidInput(ZONE_FIELD, f"{name!r} is no IANA time zone.", hint)
    return ZoneInfo(name)


def check(cron: str, time_zone: str) -> None:
    """Raise InvalidInput, on ``cron`` or ``time_zone``, unless the expression is one and comes at some time."""
    next_times(cron, time_zone, datetime.now(UTC), 1)


def next_time(cron: str, time_zone: str, after: datetime) -> datetime:
    """The first due time later than ``after``, in UTC."""
    return next_times(cron, time_zone, after, 1)[0].astimezone(UTC)


def next_times(cron: str, time_zone: str, after: datetime, count: int) -> list[datetime]:
    """The next due times later than ``after``, in the zone; fewer where the expression comes less often.

    Raises InvalidInput as ``check`` does.
    """
    simulated = _parse(cron, after.astimezone(zone(time_zone)))
    found = list(islice(_later(simulated, after), count))
    if not found:
        raise InvalidInput(CRON_FIELD, f"{cron!r} never comes: no such day exists.", _REMEDY)
    return found


def words(cron: str) -> str:
    """The expression in English, for example "At 03:15 every day". Raises InvalidInput."""
    parsed = _parse(cron, datetime(2000, 1, 1, tzinfo=UTC))
    said = str(parsed.explain())
    parts = cron.split()
    both_days = parts[2] != "*" and parts[4] != "*"
    if both_days and not parsed.day_and:
        return f"{said} (a day that is either of the two counts)"
    return said


def clock_notes(cron: str, time_zone: str, after: datetime) -> list[str]:
    """What the next changes of the clocks (within a year) do to this expression; empty when they don't touch it."""
    return [note for change in _changes(zone(time_zone), after) if (note := _note(cron, change))]


def _parse(cron: str, at: datetime) -> CronSim:
    if len(cron) > MAX_LENGTH:
        raise InvalidInput(CRON_FIELD, f"has more than {MAX_LENGTH} characters.", _REMEDY)
    if len(cron.split()) != FIELDS:
        raise InvalidInput(CRON_FIELD, f"{cron!r} has {len(cron.split())} fields, not {FIELDS}.", _REMEDY)
    try:
        return CronSim(cron, at)
    except CronSimError as exc:
        which = str(exc).removeprefix("Bad ")
        raise InvalidInput(CRON_FIELD, f"{cron!r}: the field {which} can't be read.", _REMEDY) from exc
    except RecursionError as exc:
        raise InvalidInput(CRON_FIELD, "is nested too deeply.", _REMEDY) from exc


def _later(times: CronSim, after: datetime) -> Iterator[datetime]:
    # In the second pass of a doubled hour cronsim, which then counts on the wall clock, gives the first pass again;
    # and the times of a skipped hour all become the first minute after it: each moment counts once.
    last = after
    try:
        for moment in times:
            if moment.astimezone(UTC) > last.astimezone(UTC):
                last = moment
                yield moment
    except (CronSimError, OverflowError):
        return  # no such day within fifty years


def _changes(where: ZoneInfo, after: datetime) -> Iterator[ClockChange]:
    hour = after.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    end = hour + _LOOK_AHEAD
    before = hour.astimezone(where).utcoffset()
    while hour < end:
        hour += timedelta(hours=1)
        local = hour.astimezone(where)
        offset = local.utcoffset()
        if before is not None and offset is not None and offset != before:
            yield ClockChange(local, offset - before)
        before = offset


def _note(cron: str, change: ClockChange) -> str:
    shift = abs(change.shift)
    forward = change.shift > timedelta(0)
    wall = change.at.replace(tzinfo=None)
    start = wall - shift if forward else wall
    touched = [moment for moment in islice(_wall_times(cron, start), 60) if moment < start + shift]
    if not touched:
        return ""
    times = ", ".join(f"{moment:%H:%M}" for moment in touched[:3]) + (", ..." if len(touched) > 3 else "")
    by_wall_clock = not any(part.startswith("*") for part in cron.split()[:2])
    one = len(touched) == 1
    starts = "starts" if one else "start"
    if forward:
        left_out = "is left out" if one else "are left out"
        what = f"{starts} at {wall:%H:%M} instead, once" if by_wall_clock else left_out
        return f"On {wall:%Y-%m-%d} clocks skip {start:%H:%M} to {start + shift:%H:%M}: {times} {what}."
    what = f"{starts} the first time only" if by_wall_clock else f"{starts} both times"
    return f"On {wall:%Y-%m-%d} {start:%H:%M} to {start + shift:%H:%M} comes twice: {times} {what}."


def _wall_times(cron: str, start: datetime) -> Iterator[datetime]:
    yield from CronSim(cron, start - timedelta(seconds=1))

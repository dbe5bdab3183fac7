"""The catalogue of profiles: ``profiles.toml`` beside this module, and one more file a user may name."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from lastbyte.domain.errors import InvalidInput, UnknownName
from lastbyte.domain.impairment import Slot
from lastbyte.domain.loss import FourState, GilbertElliott
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.timeline import Change, Step, Timeline

BUILTIN_FILE = Path(__file__).with_name("profiles.toml")
EXTRA_FILE_VARIABLE = "LASTBYTE_PROFILES_FILE"

_DIRECTION_KEYS = ("both", "downlink", "uplink")
_TEXT_KEYS = ("description", "group", "source")

_T = TypeVar("_T", Impairment, Change)


def load_profiles() -> dict[str, Profile]:
    """Every profile by name, in the order of the files.

    Profiles of the file named by LASTBYTE_PROFILES_FILE are added and may replace built-in ones.
    Raises InvalidInput naming the file, the profile and the field.
    """
    profiles = read_profiles(BUILTIN_FILE)
    extra = os.environ.get(EXTRA_FILE_VARIABLE)
    if extra:
        profiles.update(read_profiles(Path(extra).expanduser()))
    return profiles


def find_profile(name: str) -> Profile:
    """The profile of that name; raises UnknownName listing those there are."""
    profiles = load_profiles()
    if name not in profiles:
        raise UnknownName("profile", "profile", name, list(profiles))
    return profiles[name]


def read_profiles(file: Path) -> dict[str, Profile]:
    """Profiles of one TOML file; raises InvalidInput naming the file, the profile and the field."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as exc:
        raise InvalidInput(str(file), f"can't be read: {exc.strerror}.") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise InvalidInput(str(file), f"is not valid TOML: {exc}.") from exc
    return parse_profiles(document, str(file))


def parse_profiles(document: Mapping[str, object], source: str) -> dict[str, Profile]:
    """Profiles of a parsed document; ``source`` names it in errors."""
    unknown = sorted(set(document) - {"profiles", "groups"})
    if unknown:
        raise InvalidInput(
            f"{source}: {unknown[0]}", "is not known here.", "Use [profiles.NAME] and [groups.NAME] only."
        )
    groups = _groups(document.get("groups", {}), f"{source}: groups")
    table = _table(document.get("profiles", {}), f"{source}: profiles")
    return {name: _profile(name, _table(body, f"{source}: {name}"), source, groups) for name, body in table.items()}


def _groups(value: object, where: str) -> dict[str, dict[str, str]]:
    """Title and source of each group by its key."""
    groups: dict[str, dict[str, str]] = {}
    for key, body in _table(value, where).items():
        table = _table(body, f"{where}.{key}")
        _refuse_unknown(table, ("title", "source"), f"{where}.{key}")
        groups[key] = {name: _text(table.get(name, ""), f"{where}.{key}.{name}") for name in ("title", "source")}
    return groups


def _profile(name: str, body: Mapping[str, object], source: str, groups: Mapping[str, Mapping[str, str]]) -> Profile:
    where = f"{source}: {name}"
    if not name or len(name) > 64 or not all(char.isalnum() or char in "._-" for char in name):
        raise InvalidInput(where, "is not a usable name.", "Use letters, digits, dot, dash, underscore; 1 to 64.")
    _refuse_unknown(body, (*_TEXT_KEYS, *_DIRECTION_KEYS, "timeline"), where)
    texts = {key: _text(body.get(key, ""), f"{where}.{key}") for key in _TEXT_KEYS}
    group = groups.get(texts["group"], {})
    downlink, uplink = (_merged(Impairment, body, direction, where) for direction in ("downlink", "uplink"))
    timeline = _timeline(body["timeline"], f"{where}.timeline") if "timeline" in body else None
    profile = Profile(
        name=name,
        description=texts["description"],
        downlink=downlink,
        uplink=uplink,
        group=group.get("title") or texts["group"],
        source=texts["source"] or group.get("source", ""),
        timeline=timeline,
    )
    downlink.validate(f"{where}.downlink")
    uplink.validate(f"{where}.uplink")
    if timeline is not None:
        timeline.validate(f"{where}.timeline", downlink, uplink)
    return profile


def _merged(kind: type[_T], body: Mapping[str, object], direction: str, where: str) -> _T:
    """A direction's values: those of ``both``, overridden by its own."""
    both = _values(kind, body.get("both", {}), f"{where}.both")
    return kind(**{**both, **_values(kind, body.get(direction, {}), f"{where}.{direction}")})


def _timeline(value: object, where: str) -> Timeline:
    table = _table(value, where)
    _refuse_unknown(table, ("repeat_every_ms", "steps"), where)
    repeat = table.get("repeat_every_ms")
    steps = table.get("steps")
    if not isinstance(steps, list):
        raise InvalidInput(f"{where}.steps", f"{steps!r} is not a list of steps.")
    return Timeline(
        tuple(_step(step, f"{where}.steps.{index}") for index, step in enumerate(steps)),
        None if repeat is None else _number(repeat, f"{where}.repeat_every_ms"),
    )


def _step(value: object, where: str) -> Step:
    table = _table(value, where)
    _refuse_unknown(table, ("at_ms", *_DIRECTION_KEYS), where)
    if "at_ms" not in table:
        raise InvalidInput(f"{where}.at_ms", "is missing.", "Say when the step begins, in milliseconds.")
    down, up = (_merged(Change, table, direction, where) for direction in ("downlink", "uplink"))
    return Step(_number(table["at_ms"], f"{where}.at_ms"), down, up)


_NESTED: dict[str, type[GilbertElliott | FourState | Slot]] = {
    "loss_gemodel": GilbertElliott,
    "loss_state": FourState,
    "slot": Slot,
}
_TEXTS = ("jitter_distribution",)
_WHOLE = ("queue_packets", "reorder_gap", "packets", "bytes")


def _values(kind: type, value: object, where: str) -> dict[str, Any]:
    """Arguments of a dataclass from a table; each value checked for its type, none yet for its range."""
    table = _table(value, where)
    _refuse_unknown(table, tuple(item.name for item in fields(kind)), where)
    result: dict[str, Any] = {}
    for key, item in table.items():
        name = f"{where}.{key}"
        if key in _NESTED:
            result[key] = _nested(_NESTED[key], item, name)
        elif key in _TEXTS:
            if not isinstance(item, str):
                raise InvalidInput(name, f"{item!r} is not text.")
            result[key] = item
        elif key in _WHOLE:
            number = _number(item, name)
            if not isinstance(item, int):
                raise InvalidInput(name, f"{item!r} is not a whole number.")
            result[key] = int(number)
        else:
            result[key] = _number(item, name)
    return result


def _nested(kind: type[GilbertElliott | FourState | Slot], value: object, where: str) -> object:
    values = _values(kind, value, where)
    missing = [item.name for item in fields(kind) if item.default is MISSING and item.name not in values]
    if missing:
        raise InvalidInput(f"{where}.{missing[0]}", "is missing.", f"Needed: {', '.join(missing)}.")
    return kind(**values)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(where, "must be text.")
    return value


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(where, f"{value!r} is not a number.")
    try:
        return float(value)
    except OverflowError as exc:  # an integer of hundreds of digits
        raise InvalidInput(where, "is too large.") from exc


def _table(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidInput(where, f"{value!r} is not a table.")
    return value


def _refuse_unknown(table: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise InvalidInput(f"{where}.{unknown[0]}", "is not known.", f"Known: {', '.join(known)}.")

"""The catalogue of profiles: ``profiles.toml`` beside this module, and one more file a user may name."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from lastbyte.domain.errors import InvalidInput, UnknownName
from lastbyte.domain.profile import Impairment, Profile

BUILTIN_FILE = Path(__file__).with_name("profiles.toml")
EXTRA_FILE_VARIABLE = "LASTBYTE_PROFILES_FILE"

_DIRECTION_KEYS = ("both", "downlink", "uplink")
_IMPAIRMENT_KEYS = tuple(item.name for item in fields(Impairment))


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
    unknown = sorted(set(document) - {"profiles"})
    if unknown:
        raise InvalidInput(f"{source}: {unknown[0]}", "is not known here.", "Use [profiles.NAME] tables only.")
    table = _table(document.get("profiles", {}), f"{source}: profiles")
    return {name: _profile(name, _table(body, f"{source}: {name}"), source) for name, body in table.items()}


def _profile(name: str, body: Mapping[str, object], source: str) -> Profile:
    where = f"{source}: {name}"
    if not name or len(name) > 64 or not all(char.isalnum() or char in "._-" for char in name):
        raise InvalidInput(where, "is not a usable name.", "Use letters, digits, dot, dash, underscore; 1 to 64.")
    _refuse_unknown(body, ("description", *_DIRECTION_KEYS), where)
    description = body.get("description", "")
    if not isinstance(description, str):
        raise InvalidInput(f"{where}.description", "must be text.")
    both = _values(body.get("both", {}), f"{where}.both")
    directions = {
        direction: Impairment(**{**both, **_values(body.get(direction, {}), f"{where}.{direction}")})  # type: ignore[arg-type]
        for direction in ("downlink", "uplink")
    }
    for direction, impairment in directions.items():
        impairment.validate(f"{where}.{direction}")
    return Profile(name=name, description=description, **directions)


def _values(value: object, where: str) -> dict[str, float | int]:
    table = _table(value, where)
    _refuse_unknown(table, _IMPAIRMENT_KEYS, where)
    result: dict[str, float | int] = {}
    for key, number in table.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise InvalidInput(f"{where}.{key}", f"{number!r} is not a number.")
        if key == "queue_packets":
            if not isinstance(number, int):
                raise InvalidInput(f"{where}.{key}", f"{number!r} is not a whole number.")
            result[key] = number
        else:
            result[key] = float(number)
    return result


def _table(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidInput(where, f"{value!r} is not a table.")
    return value


def _refuse_unknown(table: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise InvalidInput(f"{where}.{unknown[0]}", "is not known.", f"Known: {', '.join(known)}.")

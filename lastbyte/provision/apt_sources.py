"""Reading apt's own source files (sources.list(5)), to learn which mirror and keyring this system trusts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_FALSE_WORDS = frozenset({"no", "false", "without", "off", "disable", "0"})
_PGP_BLOCK = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


@dataclass(frozen=True, slots=True)
class AptSource:
    """One archive that the system fetches binary packages from."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""
    """Path of a keyring, or a whole ASCII-armoured key, or empty: apt's trusted keys."""


def parse_one_line(text: str) -> Iterator[AptSource]:
    """Sources of a classic ``sources.list``: ``deb [option=value ...] uri suite [component ...]``."""
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        match = re.fullmatch(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<rest>\S.*)", line)
        if not match:
            continue
        words = match["rest"].split()
        if len(words) < 2:
            continue
        options = dict(item.split("=", 1) for item in (match["options"] or "").split() if "=" in item)
        yield AptSource(words[0], (words[1],), tuple(words[2:]), options.get("signed-by", ""))


def _stanzas(text: str) -> Iterator[Mapping[str, str]]:
    fields: dict[str, list[str]] = {}
    current = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield {name: "\n".join(lines).strip() for name, lines in fields.items()}
            fields, current = {}, ""
        elif line[0] in " \t":
            if current:
                fields[current].append("" if line.strip() == "." else line.strip())
        elif ":" in line:
            name, value = line.split(":", 1)
            current = name.strip().lower()
            fields[current] = [value.strip()]


def parse_deb822(text: str) -> Iterator[AptSource]:
    """Sources of a ``*.sources`` file in deb822 format; disabled stanzas and source archives are left out."""
    for stanza in _stanzas(text):
        if "deb" not in stanza.get("types", "").split():
            continue
        if stanza.get("enabled", "yes").lower() in _FALSE_WORDS:
            continue
        signed_by = stanza.get("signed-by", "")
        if _PGP_BLOCK not in signed_by:
            signed_by = " ".join(signed_by.split())
        for uri in stanza.get("uris", "").split():
            suites, components = stanza.get("suites", "").split(), stanza.get("components", "").split()
            yield AptSource(uri, tuple(suites), tuple(components), signed_by)


def read_sources(etc_apt: Path) -> list[AptSource]:
    """Every enabled binary source below ``etc_apt`` (usually /etc/apt), in apt's order."""
    found: list[AptSource] = []
    main = etc_apt / "sources.list"
    if main.is_file():
        found += parse_one_line(main.read_text(errors="replace"))
    parts = etc_apt / "sources.list.d"
    for path in sorted(parts.iterdir()) if parts.is_dir() else []:
        if path.suffix == ".list":
            found += parse_one_line(path.read_text(errors="replace"))
        elif path.suffix == ".sources":
            found += parse_deb822(path.read_text(errors="replace"))
    return found


def debian_archive(sources: Iterable[AptSource], codename: str) -> AptSource | None:
    """The source that holds Debian itself: the one with this system's suite and component ``main``.

    ``codename`` is VERSION_CODENAME of os-release(5). The security archive is another one, without newer suites.
    """
    wanted = {codename, "stable", "oldstable", "testing", "unstable", "sid"} - {""}
    for source in sources:
        if "main" in source.components and wanted.intersection(suite.rstrip("/") for suite in source.suites):
            return source
    return None

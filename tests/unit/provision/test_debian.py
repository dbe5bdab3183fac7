import json
from pathlib import Path

import pytest

from lastbyte.domain.errors import Unavailable
from lastbyte.provision import debian, origins


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path))
    return tmp_path


def unpack_by_hand(cache: Path, versions: dict[str, str]) -> Path:
    folder = cache / "debian" / "forky" / "origins"
    (folder / "bin").mkdir(parents=True)
    for name in versions:
        (folder / "bin" / name).write_text("#!/bin/sh\n")
    manifest = {
        "format": 1,
        "path": str(folder),
        "suite": "forky",
        "packages": sorted(versions),
        "versions": versions,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_what_is_there_is_found_without_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = unpack_by_hand(cache, {"curl": "8.22.0-1"})
    monkeypatch.setenv("PATH", "")  # neither apt nor dpkg can be run
    found = debian.unpacked("forky", ["curl"], "origins")
    assert found.program("curl") == folder / "bin" / "curl"
    with pytest.raises(Unavailable, match="ships a program 'wget'"):
        found.program("wget")


def test_a_cache_that_was_moved_or_is_broken_is_not_used(cache: Path) -> None:
    folder = unpack_by_hand(cache, {"curl": "8.22.0-1"})
    (folder / "manifest.json").write_text((folder / "manifest.json").read_text().replace(str(cache), "/elsewhere"))
    assert debian.load("forky", "origins") is None
    (folder / "manifest.json").write_text("{")
    assert debian.load("forky", "origins") is None
    assert debian.load("forky", "nothing") is None


def test_without_apt_the_reason_and_the_remedy_are_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unavailable, match=r"apt-get is not here.*Debian 12 or 13"):
        debian.unpacked("forky", ["curl"], "x")
    assert not list((cache / "debian" / "forky").glob(".apt*"))


def test_without_a_debian_mirror_the_reason_is_said(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(debian, "_ETC_APT", tmp_path / "etc")
    monkeypatch.setattr(debian.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(Unavailable, match="No Debian archive"):
        debian.unpacked("forky", ["curl"], "x")


def test_origins_say_what_is_missing_and_what_is_too_old(cache: Path) -> None:
    assert {p.state for p in origins.origin_programs()} == {"missing"}
    with pytest.raises(Unavailable, match=r"nginx is missing\. Run"):
        origins.program("nginx")
    unpack_by_hand(cache, {"caddy": "2.6.2-5", "haproxy": "3.2.26-1", "nginx": "1.30.6-2"})
    states = {p.name: (p.state, p.version) for p in origins.origin_programs()}
    assert states == {
        "caddy": ("too old", "2.6.2-5"),
        "haproxy": ("ready", "3.2.26-1"),
        "nginx": ("ready", "1.30.6-2"),
    }


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("1:3.2.26-1+b2", (3, 2, 26)), ("2.11.4-1", (2, 11, 4)), ("8.21.0-2~bpo13+1", (8, 21, 0)), ("odd", ()), ("", ())],
)
def test_upstream_numbers_of_a_debian_version(version: str, numbers: tuple[int, ...]) -> None:
    assert origins.numeric_version(version) == numbers

"""Packages of a newer suite are fetched, checked, unpacked and run, without touching the system's own apt."""

import hashlib
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lastbyte.domain.errors import Unavailable
from lastbyte.provision import debian


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def system_apt() -> dict[str, int]:
    places = (Path("/var/lib/apt/lists"), Path("/var/cache/apt"), Path("/var/lib/dpkg/status"))
    return {str(place): place.stat().st_mtime_ns for place in places if place.exists()}


def test_concurrent_calls_share_one_build_that_runs(cache: Path) -> None:
    before = system_apt()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: debian.unpacked("forky", ["zstd"], "tool"), range(2))
    assert first == second
    assert system_apt() == before
    shown = subprocess.run([first.program("zstd"), "--version"], capture_output=True, text=True, check=True)
    assert first.versions["zstd"].split("+")[0].split("-")[0] in shown.stdout
    assert "libc6" in first.versions
    direct = subprocess.run([*first.command("/usr/bin/zstd"), "-V"], capture_output=True, text=True, check=True)
    assert direct.stdout == shown.stdout
    left = sorted(entry.name for entry in (cache / "debian" / "forky").iterdir())
    assert left == [".lock", "tool"]
    inode = first.path.stat().st_ino
    assert debian.unpacked("forky", ["zstd"], "tool").path.stat().st_ino == inode


def test_an_unknown_suite_or_package_leaves_nothing(cache: Path) -> None:
    with pytest.raises(Unavailable, match=r"nosuch.*Check the network"):
        debian.unpacked("nosuch", ["zstd"], "tool")
    with pytest.raises(Unavailable, match="no-such-package"):
        debian.unpacked("forky", ["no-such-package"], "tool")
    assert [entry.name for entry in (cache / "debian" / "forky").iterdir()] == [".lock"]


@pytest.mark.parametrize(("until", "behind"), [("2020", True), ("2120", False)])
def test_a_mirror_that_is_behind_is_used_and_it_is_said(tmp_path: Path, until: str, behind: bool) -> None:
    (tmp_path / "Packages").write_text("")
    digest = hashlib.sha256(b"").hexdigest()
    dates = f"Date: Wed, 01 Jan 2020 00:00:00 UTC\nValid-Until: Thu, 02 Jan {until} 00:00:00 UTC\n"
    (tmp_path / "Release").write_text(f"Suite: forky\n{dates}SHA256:\n {digest} 0 Packages\n")
    with debian._PrivateApt("forky") as apt:
        (apt._dir / "etc/sources.list").write_text(f"deb [trusted=yes] file:{tmp_path} ./\n")
        with (apt._dir / "etc/apt.conf").open("a") as config:
            config.write('Acquire::Check-Valid-Until "true";\nAcquire::Check-Date "true";\n')
        done = apt._update_lists()
        assert (done.returncode, done.stderr) == (0, "")
        assert apt.out_of_date is behind


def test_a_keyring_without_the_newer_key_is_followed_up_by_the_chain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    codename = debian._codename()
    keyrings = sorted(Path("/usr/share/keyrings").glob(f"debian-archive-{codename}-stable.*"))
    source = debian.debian_archive(debian.read_sources(Path("/etc/apt")), codename)
    if not keyrings or source is None:
        pytest.skip("this Debian has no keyring of its own release alone")
    (tmp_path / "etc").mkdir()
    line = f"deb [signed-by={keyrings[0]}] {source.uri} {codename} main\n"
    (tmp_path / "etc/sources.list").write_text(line)
    monkeypatch.setattr(debian, "_ETC_APT", tmp_path / "etc")
    followed = []
    original = debian._PrivateApt._newer_keyring

    def spy(self: debian._PrivateApt, signed_by: str) -> Path:
        followed.append(signed_by)
        return original(self, signed_by)

    monkeypatch.setattr(debian._PrivateApt, "_newer_keyring", spy)
    assert debian.candidate_version("forky", "zstd")
    assert followed == [str(keyrings[0])]

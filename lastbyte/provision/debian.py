"""Programs of a newer Debian suite, unpacked into a folder of their own and run by their own loader.

Nothing is installed and no root is needed: a private apt (own state, lists and cache) resolves and fetches the packages
with all their dependencies, the C library included, and checks the archive's signatures as always; ``dpkg-deb -x``
unpacks them; a small wrapper per program runs it through the ``ld-linux`` of that tree (ld.so(8)). So a program of a
newer suite runs on Debian 12 and 13 beside the system's own. The mirror and the keyring are the ones that this
system's apt already uses.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lastbyte.domain.errors import Unavailable
from lastbyte.provision.apt_sources import AptSource, debian_archive, read_sources
from lastbyte.settings import cache_dir

Progress = Callable[[str], None]
"""Told what is being done, one short sentence at a time."""

_ETC_APT = Path("/etc/apt")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_KEYRING_PACKAGE = "debian-archive-keyring"
_ELF = b"\x7fELF"
_FORMAT = 1
"""Version of the layout of an unpacked folder; another one is built anew."""


@dataclass(frozen=True, slots=True)
class UnpackedRoot:
    """Packages unpacked into ``path``/root, with a wrapper for each of their programs in ``path``/bin."""

    path: Path
    suite: str
    packages: tuple[str, ...]
    """What was asked for; ``versions`` holds the dependencies too."""
    versions: Mapping[str, str]
    """Package name to exact version, of everything unpacked."""

    @property
    def root(self) -> Path:
        """The tree of files as the packages ship it."""
        return self.path / "root"

    @property
    def bin(self) -> Path:
        """Folder of the wrappers: ``bin/nginx`` runs the unpacked nginx."""
        return self.path / "bin"

    def program(self, name: str) -> Path:
        """Wrapper of the program ``name``; raises Unavailable when no unpacked package ships it."""
        wrapper = self.bin / name
        if not wrapper.is_file():
            raise Unavailable(f"None of {', '.join(self.packages)} of Debian {self.suite} ships a program {name!r}.")
        return wrapper

    def command(self, program: str) -> list[str]:
        """Arguments that run the unpacked ``program`` ("/usr/sbin/nginx") through its own loader, without a wrapper."""
        return _command(self.root, self.root, program)


def unpacked(
    suite: str, packages: Sequence[str], name: str, progress: Progress | None = None, *, refresh: bool = False
) -> UnpackedRoot:
    """Return ``packages`` of ``suite`` with their dependencies, unpacked; fetched once, then found again.

    ``suite`` is a name of the archive ("forky", "sid", "trixie-backports"), ``name`` the folder's name in the cache.
    ``refresh`` fetches what the suite holds today. Safe against concurrent calls. Raises Unavailable.
    """
    say = progress or (lambda _text: None)
    folder = _suite_dir(suite) / name
    if not refresh and (there := load(suite, name)) and there.packages == tuple(packages):
        return there
    with _locked(suite):
        if not refresh and (there := load(suite, name)) and there.packages == tuple(packages):
            return there
        with _PrivateApt(suite) as apt:
            say(f"reading the package lists of Debian {suite}")
            apt.update()
            if apt.out_of_date:
                say(f"the mirror's lists of Debian {suite} are past their date; signed as they are, they are used")
            say(f"fetching {', '.join(packages)} from Debian {suite}")
            archives = apt.download(packages)
            say(f"unpacking {len(archives)} packages")
            _build(folder, suite, tuple(packages), archives)
    result = load(suite, name)
    if result is None:
        raise Unavailable(f"{folder} was unpacked but can't be read back.")
    return result


def load(suite: str, name: str) -> UnpackedRoot | None:
    """What ``unpacked`` left earlier, without touching the network; None when there is nothing usable."""
    folder = _suite_dir(suite) / name
    try:
        data = json.loads((folder / "manifest.json").read_text())
        if data["format"] != _FORMAT or data["path"] != str(folder):
            return None  # moved or copied caches hold wrappers with paths of elsewhere
        return UnpackedRoot(folder, data["suite"], tuple(data["packages"]), dict(data["versions"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def candidate_version(suite: str, package: str) -> str | None:
    """Version of ``package`` that ``suite`` holds today, None when it has none. Needs the network."""
    with _locked(suite), _PrivateApt(suite) as apt:
        apt.update()
        return apt.candidate(package)


def _suite_dir(suite: str) -> Path:
    return cache_dir() / "debian" / suite


@contextlib.contextmanager
def _locked(suite: str) -> Iterator[None]:
    folder = _suite_dir(suite)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _codename() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "VERSION_CODENAME":
            return value.strip("\"'")
    return ""


def _archive() -> AptSource:
    for tool in ("apt-get", "apt-cache", "apt-config", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not here; packages can be unpacked on Debian only. Use Debian 12 or 13.")
    try:
        source = debian_archive(read_sources(_ETC_APT), _codename())
    except OSError as exc:
        raise Unavailable(f"The apt sources of this system can't be read: {exc}.") from exc
    if source is None:
        raise Unavailable(
            f"No Debian archive with component main is in {_ETC_APT}/sources.list or {_ETC_APT}/sources.list.d. "
            "Add this system's Debian mirror there."
        )
    return source


class _PrivateApt:
    """apt with state, lists and cache of its own, for one suite."""

    def __init__(self, suite: str) -> None:
        self._suite = suite
        self.out_of_date = False
        """Whether lists were taken though the archive's word for them had run out."""
        self._archive = _archive()
        _suite_dir(suite).mkdir(parents=True, exist_ok=True)
        self._dir = Path(tempfile.mkdtemp(prefix=".apt.", dir=_suite_dir(suite)))
        for sub in ("state/lists/partial", "cache/archives/partial", "etc"):
            (self._dir / sub).mkdir(parents=True, exist_ok=True)
        (self._dir / "status").write_text("")  # nothing counts as installed, so the whole closure is fetched
        self._write_config()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        shutil.rmtree(self._dir, ignore_errors=True)  # 100 MB that the next call would fetch anew anyway

    def _write_config(self) -> None:
        # The system's own way to the network (proxies, retries, checks) is kept, its hooks and pins are not.
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True, env=_environment())
        lines = [line for line in dump.stdout.splitlines() if line.startswith("Acquire::")]
        settings = {
            "Dir::State": self._dir / "state",
            "Dir::State::status": self._dir / "status",
            "Dir::Cache": self._dir / "cache",
            "Dir::Etc::sourcelist": self._dir / "etc/sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::parts": "/dev/null",
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Default-Release": self._suite,
            "APT::Install-Recommends": "false",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        if os.geteuid() == 0:
            settings["APT::Sandbox::User"] = "root"  # _apt may not enter a cache in root's home
        lines += [f'{key} "{value}";' for key, value in settings.items()]
        (self._dir / "etc/apt.conf").write_text("\n".join(lines) + "\n")

    def _write_sources(self, suites: Sequence[str], signed_by: str) -> None:
        if "-----BEGIN" in signed_by:
            key = self._dir / "etc/archive.asc"
            key.write_text(signed_by + "\n")
            signed_by = str(key)
        option = f"[signed-by={','.join(signed_by.split())}] " if signed_by else ""
        text = "".join(f"deb {option}{self._archive.uri} {suite} main\n" for suite in suites)
        (self._dir / "etc/sources.list").write_text(text)

    def _apt(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        env = {**_environment(), "APT_CONFIG": str(self._dir / "etc/apt.conf")}
        return subprocess.run(list(arguments), capture_output=True, text=True, check=False, env=env, cwd=cwd)

    def update(self) -> None:
        """Fetch the package lists of the suite, and of the one that a backports suite builds on."""
        base = self._suite.removesuffix("-backports")
        suites = [self._suite] if base == self._suite else [self._suite, base]
        signed_by = self._archive.signed_by or (str(_KEYRING) if _KEYRING.is_file() else "")
        self._write_sources(suites, signed_by)
        done = self._update_lists()
        if done.returncode != 0 and "NO_PUBKEY" in done.stderr:
            # An older keyring lacks a newer suite's key; the system's own suite ships it, signed by keys we have.
            self._write_sources(suites, str(self._newer_keyring(signed_by)))
            done = self._update_lists()
        if done.returncode != 0:
            raise Unavailable(
                f"The package lists of Debian {self._suite} can't be fetched: {_last_error(done.stderr)} "
                "Check the network and the mirror in /etc/apt, then run it again."
            )

    def _update_lists(self) -> subprocess.CompletedProcess[str]:
        done = self._apt("apt-get", "-qq", "--error-on=any", "update")
        if done.returncode != 0 and " is expired " in done.stderr:
            # A mirror that is weeks behind (Check-Valid-Until, apt.conf(5)): signatures are checked all the same, and
            # exact versions are recorded.
            self.out_of_date = True
            with (self._dir / "etc/apt.conf").open("a") as config:
                config.write('Acquire::Check-Valid-Until "false";\n')
            done = self._apt("apt-get", "-qq", "--error-on=any", "update")
        return done

    def _newer_keyring(self, signed_by: str) -> Path:
        codename = _codename()
        target = self._dir / "keyring"
        target.mkdir(exist_ok=True)
        with _PrivateApt(codename) as own:
            own._write_sources([codename, f"{codename}-updates"], signed_by)
            own._update_lists()
            done = own._apt("apt-get", "-qq", "download", _KEYRING_PACKAGE, cwd=target)
        archives = sorted(target.glob(f"{_KEYRING_PACKAGE}_*.deb"))
        if done.returncode != 0 or not archives:
            raise Unavailable(
                f"This system's keyring doesn't know Debian {self._suite}'s key, and a newer {_KEYRING_PACKAGE} can't "
                f"be fetched: {_last_error(done.stderr)} Run: apt-get update && apt-get install {_KEYRING_PACKAGE}"
            )
        _extract(archives[-1], target)
        return target / _KEYRING.relative_to("/")

    def candidate(self, package: str) -> str | None:
        """Version that the suite would install, None when it knows no such package."""
        done = self._apt("apt-cache", "policy", package)
        for line in done.stdout.splitlines():
            key, _, value = line.strip().partition(": ")
            if key == "Candidate":
                return None if value == "(none)" else value
        return None

    def download(self, packages: Sequence[str]) -> list[Path]:
        """Fetch ``packages`` and everything they depend on, signatures and checksums verified by apt."""
        done = self._apt("apt-get", "-qq", "-y", "--download-only", "install", *packages)
        archives = sorted((self._dir / "cache/archives").glob("*.deb"))
        if done.returncode != 0 or not archives:
            raise Unavailable(
                f"{', '.join(packages)} can't be fetched from Debian {self._suite}: {_last_error(done.stderr)} "
                "Check the network and the free space below the cache folder, then run it again."
            )
        return archives


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def _last_error(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.startswith(("E:", "W:"))]
    return lines[0] if lines else (stderr.strip()[-300:] or "no reason was given.")


def _extract(archive: Path, target: Path) -> None:
    done = subprocess.run(["dpkg-deb", "-x", str(archive), str(target)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{archive.name} can't be unpacked: {done.stderr.strip()[-300:]}")


def _fields(archive: Path) -> tuple[str, str]:
    form = "--showformat=${Package} ${Version}"
    shown = subprocess.run(["dpkg-deb", form, "-W", str(archive)], capture_output=True, text=True, check=True)
    package, version = shown.stdout.split()
    return package, version


def _programs(archive: Path) -> list[str]:
    """Paths of the files that a package puts into /usr/bin and /usr/sbin, without the leading slash."""
    listed = subprocess.run(["dpkg-deb", "-c", str(archive)], capture_output=True, text=True, check=True)
    paths = (line.split(" ./", 1)[-1].split(" -> ")[0] for line in listed.stdout.splitlines())
    return [path for path in paths if path.startswith(("usr/bin/", "usr/sbin/")) and not path.endswith("/")]


def _build(folder: Path, suite: str, packages: tuple[str, ...], archives: Sequence[Path]) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        root = work / "root"
        for name in ("bin", "sbin", "lib", "lib64"):  # merged /usr, as every suite since bookworm expects it
            (root / "usr" / name).mkdir(parents=True)
            (root / name).symlink_to(f"usr/{name}")
        versions: dict[str, str] = {}
        programs: list[str] = []
        for archive in archives:
            package, version = _fields(archive)
            versions[package] = version
            _extract(archive, root)
            if package in packages:
                programs += _programs(archive)
        (work / "bin").mkdir()
        for program in programs:
            if _is_elf(root / program):
                _write_wrapper(work / "bin" / Path(program).name, root, folder / "root", program)
        manifest = {
            "format": _FORMAT,
            "path": str(folder),
            "suite": suite,
            "packages": packages,
            "versions": dict(sorted(versions.items())),
        }
        (work / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
        work.chmod(0o755)
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
            folder.rename(old / "tree")
            work.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        else:
            work.rename(folder)
    finally:
        if work.exists():
            shutil.rmtree(work, ignore_errors=True)


def _is_elf(path: Path) -> bool:
    if not path.is_file() or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        return file.read(4) == _ELF


def _command(root: Path, final: Path, program: str) -> list[str]:
    """The loader's command line for ``program``, looked up in ``root``, written with the paths of ``final``."""
    loaders = sorted(root.glob("usr/lib/*-linux-gnu*/ld-linux*.so.*"))
    if not loaders:
        raise Unavailable(f"No dynamic loader is in {root}; the C library was not unpacked.")
    loader = loaders[0].relative_to(root)
    return [
        str(final / loader),
        "--inhibit-cache",  # the host's own libraries are of another release
        "--library-path",
        f"{final / loader.parent}:{final / 'usr/lib'}",
        str(final / program.lstrip("/")),
    ]


def _write_wrapper(wrapper: Path, root: Path, final: Path, program: str) -> None:
    command = shlex.join(_command(root, final, program))
    # The host's openssl.cnf may name options that this OpenSSL lacks.
    wrapper.write_text(f'#!/bin/sh\nOPENSSL_CONF=${{OPENSSL_CONF-/dev/null}} exec {command} "$@"\n')
    wrapper.chmod(0o755)

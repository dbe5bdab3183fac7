"""scripts/bootstrap on machines that lack something: one message that says what, and how to mend it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOOLS = [
    "bash",
    "sh",
    "cat",
    "cut",
    "dirname",
    "dpkg-query",
    "env",
    "find",
    "grep",
    "head",
    "id",
    "mkdir",
    "rm",
    "sed",
    "sha256sum",
    "sort",
    "tail",
    "touch",
    "xargs",
]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What bootstrap reads of a checkout, in a folder with a blank in its name."""
    folder = tmp_path / "my clone"
    for part in ("scripts", "clients", "lastbyte/provision"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("uv.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def bare_machine(tmp_path: Path) -> dict[str, str]:
    """An environment with hardly any programs, an unknown system, no network and a cache of its own."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in TOOLS:
        (programs / tool).symlink_to(str(shutil.which(tool)))
    (tmp_path / "os-release").write_text('ID=slackware\nVERSION_ID=15.0\nPRETTY_NAME="Slackware 15.0"\n')
    return {
        "PATH": str(programs),
        "HOME": str(tmp_path),
        "LASTBYTE_SYSTEM_PATH": "",
        "LASTBYTE_OS_RELEASE": str(tmp_path / "os-release"),
        "LASTBYTE_CACHE": str(tmp_path / "cache"),
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
    }


def bootstrap(clone: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(clone / "scripts" / "bootstrap"), *arguments],
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_an_unknown_system_is_told_all_that_is_missing(clone: Path, bare_machine: dict[str, str]) -> None:
    done = bootstrap(clone, bare_machine)
    assert done.returncode == 1
    for package in ("user-mode-linux", "iproute2", "nftables", "gcc", "cmake"):
        assert package in done.stdout
    assert "this system has no apt-get" in done.stdout
    assert "nothing can be measured over a shaped link" in done.stdout
    assert "To mend it, as root:  apt-get update && apt-get install" in done.stdout


def test_without_network_it_says_that_the_index_can_not_be_reached(clone: Path, bare_machine: dict[str, str]) -> None:
    bare_machine["LASTBYTE_PYTHON"] = sys.executable
    done = bootstrap(clone, bare_machine)
    assert done.returncode == 1
    assert "can't be had from the Python package index" in done.stdout
    assert "To mend it:" in done.stdout
    assert not list((Path(bare_machine["LASTBYTE_CACHE"])).glob("uv-*"))


def test_an_unknown_option_is_refused_and_help_tells_the_exit_codes(clone: Path, bare_machine: dict[str, str]) -> None:
    assert bootstrap(clone, bare_machine, "--nonsense").returncode == 1
    shown = bootstrap(clone, bare_machine, "--help").stdout
    assert "ends with 0" in shown
    assert "LASTBYTE_CACHE" in shown

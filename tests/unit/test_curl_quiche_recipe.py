from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from lastbyte.domain.errors import Unavailable
from lastbyte.provision import curl_quiche, toolchain


def test_the_lock_file_pins_the_parts_with_checksums() -> None:
    lock = (curl_quiche.recipe_dir() / "Cargo.lock").read_text()
    for name, version in (("quiche", "0.30.0"), ("curl-sys", "0.4.91+curl-8.22.0"), ("boring-sys", r"\d+\.\d+\.\d+")):
        pattern = (
            rf'name = "{name}"\nversion = "{version if name == "boring-sys" else re.escape(version)}"\n.*\nchecksum = "'
        )
        assert re.search(pattern, lock), name
    assert "--hash=sha256:" in (curl_quiche.recipe_dir() / "requirements.txt").read_text()


def test_a_changed_recipe_is_another_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = curl_quiche.recipe_digest()
    assert before == curl_quiche.recipe_digest()
    monkeypatch.setattr(curl_quiche, "_CMAKE_OPTIONS", (*curl_quiche._CMAKE_OPTIONS, "-DX=1"))
    assert curl_quiche.recipe_digest() != before


def test_a_failed_step_says_what_where_and_how_to_mend_it(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    command = [sys.executable, "-c", "import sys; sys.exit('CMake Error: no compiler')"]
    with pytest.raises(Unavailable) as caught:
        curl_quiche._run(command, tmp_path, dict(os.environ), log, "configuring curl", "Look at the end of the log")
    said = str(caught.value)
    assert "configuring curl failed (CMake Error: no compiler)" in said
    assert str(log) in said
    assert said.endswith("then: lastbyte setup")
    assert "exit 1" in log.read_text()


def test_missing_build_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(Unavailable, match=r"apt-get install -y gcc g\+\+ cmake git make"):
        curl_quiche.install(lambda _text: None)
    assert not list((tmp_path / "cache/clients/curl-quiche").glob(".build.*"))


def test_an_old_cargo_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho cargo 1.85.0\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CARGO", raising=False)

    def no_network(*_arguments: object) -> None:
        raise Unavailable("no network.")

    monkeypatch.setattr(toolchain, "unpacked", no_network)
    with pytest.raises(Unavailable, match=r"needs Rust 1\.88 .*cargo \(1\.85\).*no network"):
        toolchain.find_rust(lambda _text: None)


def test_a_new_cargo_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho cargo 1.88.0\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("CARGO", str(cargo))
    assert toolchain.find_rust(lambda _text: None) == toolchain.Rust(cargo, (1, 88), "path")

"""Optional clients: never brought by setting up, shown as optional, made from a folder that is pinned by its digest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lastbyte.adapters.client_descriptions import (
    ClientDescription,
    description_folders,
    load_descriptions,
    read_description,
)
from lastbyte.adapters.launch import Launch, launch_file, write_launch
from lastbyte.domain.errors import Unavailable
from lastbyte.provision import clients, doctor, setup, source_clients

SHIPPED = {description.program: description for description in load_descriptions(description_folders()[:1])}


def test_setting_up_brings_no_optional_client() -> None:
    names = [step.name for step in setup.default_steps()]
    assert {"curl-quiche", "curl-ngtcp2"} <= set(names)
    assert not {"quic-go", "aioquic", "chromium", "curl-cffi", "curl-openssl", "hq"} & set(names)


def test_optional_clients_come_last() -> None:
    optional = [description.optional for description in load_descriptions(description_folders()[:1])]
    assert optional == sorted(optional)
    assert any(optional)


def test_the_doctor_is_content_without_and_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path))
    (row,) = doctor._rows_of(clients.client_status(SHIPPED["quic-go"]))
    assert (row.name, row.state) == ("quic-go", doctor.OPTIONAL)
    assert "quic-go-h3@0rtt" in row.detail
    assert row.remedy == "Run: lastbyte clients install quic-go"
    assert doctor.healthy([row])
    monkeypatch.setenv("PATH", str(tmp_path))
    (hq,) = doctor._rows_of(clients.client_status(SHIPPED["hq"]))
    assert hq.state == doctor.OPTIONAL
    assert "can't bring it" in hq.remedy


def test_a_build_of_another_recipe_is_outdated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path))
    description = SHIPPED["quic-go"]
    folder = source_clients.folder_of(description)
    assert folder is not None
    for home, outdated in ((source_clients.home_of(description, folder), False), (tmp_path / "old", True)):
        home.mkdir(parents=True)
        program = home / "client"
        program.write_text("#!/bin/sh\necho quic-go v0\n")
        program.chmod(0o755)
        write_launch(launch_file("quic-go"), Launch((str(program),), (str(program),)))
        assert clients.client_status(description).outdated is outdated


def test_a_folder_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path / "cache"))
    description = _described(tmp_path)
    with pytest.raises(Unavailable, match="is not there"):
        source_clients.install_from_source(description, print)


def test_without_go_it_is_said_which_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(source_clients, "_GO_PLACES", ())
    description = _described(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/go.mod").write_text("module x\n\ngo 1.99.1\n")
    with pytest.raises(Unavailable, match=r"Go 1\.99\.1 or newer is needed; found: none"):
        source_clients.install_from_source(description, print)
    assert not list((tmp_path / "cache/clients/mine").glob(".build.*"))


def _described(tmp_path: Path) -> ClientDescription:
    file = tmp_path / "mine.toml"
    file.write_text(
        'program = "mine"\ntitle = "x"\nexecutable = ["{cache}/clients/mine/launch.json"]\nargv = ["{url}"]\n'
        '[protocols.h3]\n[timings]\nparser = "wall"\n[install]\noptional = true\ngo = { folder = "src" }\n'
    )
    return read_description(file)


@pytest.mark.parametrize("program", ["aioquic", "chromium", "curl-cffi", "quic-go"])
def test_everything_that_is_fetched_is_pinned_by_digest(program: str) -> None:
    folder = source_clients.folder_of(SHIPPED[program])
    assert folder is not None
    for name in ("requirements.txt", "toolchain.txt"):
        if (folder / name).is_file():
            text = (folder / name).read_text()
            packages = re.findall(r"^[\w.-]+==", text, re.MULTILINE)
            assert packages
            for part in re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]:
                assert "--hash=sha256:" in part
    if program == "quic-go":
        module = re.search(r"quic-go/quic-go (v\S+)", (folder / "go.mod").read_text())
        assert module
        assert f"quic-go/quic-go {module[1]} h1:" in (folder / "go.sum").read_text()

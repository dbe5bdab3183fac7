from __future__ import annotations

from pathlib import Path

import pytest

from lastbyte.adapters.client_descriptions import description_folders, load_clients, load_descriptions, read_description
from lastbyte.domain.client import Memory, Protocol, expand_clients
from lastbyte.domain.errors import InvalidInput

GOOD = """
program = "hq"
title = "proxygen hq"
quic_stack = "mvfst"
executable = ["/opt/hq"]
argv = ["{protocol_argv}", "--host={address}", "--port={port}", "--path={path}", "{ca_argv}"]
ca_argv = ["--ca={ca_file}"]
[protocols.h3]
argv = ["--mode=client"]
[timings]
parser = "regex"
patterns = ['total (?P<ttlb>[0-9.]+)']
unit = "ms"
"""


def write(folder: Path, text: str, name: str = "hq.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_what_ships() -> None:
    clients = {client.id: client for client in load_clients()}
    assert {"curl-quiche-h2", "curl-quiche-h3", "curl-ngtcp2-h3"} <= set(clients)
    assert clients["curl-quiche-h3"].quic_stack == "quiche"
    assert clients["curl-quiche-h2"].quic_stack == ""
    without = [d.program for d in load_descriptions(description_folders()[:1]) if not d.install]
    assert without == ["hq"]


def test_a_description_alone_makes_a_client(tmp_path: Path) -> None:
    (client,) = read_description(write(tmp_path, GOOD)).clients
    assert client.id == "hq-h3"
    assert client.protocol is Protocol.H3
    assert client.argv == ("--mode=client", "--host={address}", "--port={port}", "--path={path}", "{ca_argv}")
    assert (client.parser, client.unit) == ("regex", "ms")
    assert client.title == "proxygen hq HTTP/3"


def test_an_arm_with_a_memory_asks_before_it_is_measured(tmp_path: Path) -> None:
    text = GOOD.replace('argv = ["{protocol_argv}"', 'argv = ["{memory_argv}", "{protocol_argv}"', 1)
    text = text.replace("[protocols.h3]", 'memory_argv = ["{protocol_argv}", "--first={path}"]\n[protocols.h3]', 1)
    text += '[arms.resume]\nprotocols = ["h3"]\nargv = ["--fresh"]\n'
    plain, arm = read_description(write(tmp_path, text)).clients
    assert (plain.id, plain.memory) == ("hq-h3", None)
    assert plain.argv[:2] == ("--mode=client", "--host={address}")
    assert (arm.id, arm.memory, arm.title) == (
        "hq-h3@resume",
        Memory.RESUME,
        "proxygen hq HTTP/3, with a session ticket",
    )
    assert arm.argv[:5] == ("--mode=client", "--first={path}", "--mode=client", "--fresh", "--host={address}")
    assert expand_clients(["hq"], [plain, arm]) == [plain]
    assert expand_clients(["hq-h3@resume"], [plain, arm]) == [arm]


def test_a_warm_up_without_a_place_in_the_arguments_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="warm_up_argv"):
        read_description(
            write(tmp_path, GOOD.replace("[protocols.h3]", 'warm_up_argv = ["--warm"]\n[protocols.h3]', 1))
        )


def test_arms_that_can_not_be_made_are_named(tmp_path: Path) -> None:
    for arm, says in (
        ('[arms.reuse]\nprotocols = ["h3"]\n', "memory_argv"),
        ('[arms.reuse]\nprotocols = ["h2"]\n', "h2"),
    ):
        with pytest.raises(InvalidInput, match=says):
            read_description(write(tmp_path, GOOD + arm))


def test_the_users_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, GOOD)
    monkeypatch.setenv("LASTBYTE_CLIENTS_DIR", str(tmp_path))
    assert "hq-h3" in {client.id for client in load_clients()}


def test_the_configuration_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lastbyte/clients"
    folder.mkdir(parents=True)
    write(folder, GOOD)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "hq-h3" in {client.id for client in load_clients()}


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ('program = "hq"', 'program = "h q"', "program", "pattern"),
        ('title = "proxygen hq"\n', "", "title", "required"),
        ("{port}", "{prot}", "argv", "{prot}"),
        ('executable = ["/opt/hq"]', "executable = []", "executable", "at least 1"),
        ("[protocols.h3]", "[protocols.h4]", "protocols.h4", "h2"),
        ('parser = "regex"', 'parser = "guess"', "timings.parser", "curl-json"),
        ("(?P<ttlb>", "(?P<total>", "timings.patterns", "total"),
        ("(?P<ttlb>[0-9.]+)", "(?P<ttlb>", "timings.patterns", "regular expression"),
        ("patterns = ['total (?P<ttlb>[0-9.]+)']\n", "", "timings", "ttlb"),
        ('unit = "ms"', 'unit = "min"', "timings.unit", "ms"),
        ('parser = "regex"', 'parser = "json"', "timings", "ttlb"),
        ('parser = "regex"', 'parser = "curl-json"', "", "curl_write_out"),
        ('"--path={path}"', '"--path=/"', "", "{url}"),
        ('unit = "ms"', 'unit = "ms"\n[extra]\nx = 1', "extra", "not permitted"),
        ('unit = "ms"', 'unit = "ms"\n[install]', "install", "one of recipe"),
        ('program = "hq"', "program = ", "", "TOML"),
        ('title = "proxygen hq"', 'title = "x"\nbody = "stdout"', "", "figures must be read from stderr"),
        ('title = "proxygen hq"', 'title = "x"\ntls_groups_argv = ["--curves"]', "", "go together"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(tmp_path: Path, old: str, new: str, key: str, says: str) -> None:
    assert old in GOOD
    file = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InvalidInput) as caught:
        read_description(file)
    assert caught.value.field.startswith(str(file))
    assert key in caught.value.field
    assert says in caught.value.message
    assert caught.value.remedy


def test_two_descriptions_of_one_program_are_refused(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "a.toml")
    write(tmp_path, GOOD, "b.toml")
    with pytest.raises(InvalidInput, match=r"described in .*a\.toml too"):
        load_descriptions([tmp_path])


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="can't be read"):
        read_description(file)

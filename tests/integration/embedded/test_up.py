"""``lastbyte up`` as a person meets it: help, taken ports, a folder that can't be used."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from lastbyte.embedded.cli import up


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command("up")(up)
    return CliRunner().invoke(app, list(arguments))


def test_help_teaches() -> None:
    shown = run("--help").output
    for word in (
        "--api-port",
        "--dashboard-port",
        "--var",
        "--no-demo",
        "--no-testbed",
        "Ctrl-C",
        "LASTBYTE_DATABASE_URL",
    ):
        assert word in shown


@pytest.mark.parametrize("flag", ["--api-port", "--dashboard-port"])
def test_a_taken_port_is_named_with_the_flag_that_changes_it_and_nothing_starts(tmp_path: Path, flag: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("--var", str(tmp_path), flag, str(port))
    assert result.exit_code == 1
    assert f"{flag}: port {port} of 127.0.0.1 is taken" in result.output
    assert f"Choose another: {flag} " in result.output
    assert not (tmp_path / "postgres").exists()


def test_a_var_folder_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("--var", str(tmp_path / "file"))
    assert result.exit_code == 1
    assert f"--var: {tmp_path}/file can't be written" in result.output

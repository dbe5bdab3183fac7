"""The command line imports only what a command needs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lastbyte.cli.lazy import COMMANDS
from lastbyte.cli.main import app


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name: str) -> None:
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert f" {name} " in result.output


def test_the_list_names_all_in_order() -> None:
    output = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output
    places = [output.index(f"│ {name} ") for name in COMMANDS]
    assert places == sorted(places)


def test_a_command_of_the_api_loads_no_numbers() -> None:
    code = (
        "import sys; from lastbyte.cli.main import app; "
        "app(['campaign', '--help'], standalone_mode=False); "
        "sys.exit(bool({'numpy', 'scipy', 'sqlalchemy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0

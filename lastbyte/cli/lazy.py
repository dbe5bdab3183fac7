"""Commands whose modules are imported when they are called: ``campaign list`` need not wait for SciPy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

COMMANDS: dict[str, str] = {
    "measure": "lastbyte.cli.measure:measure_command",
    "up": "lastbyte.embedded.cli:up",
    "demo": "lastbyte.embedded.cli:demo",
    "doctor": "lastbyte.cli.diagnose:doctor",
    "profiles": "lastbyte.cli.diagnose:profiles",
    "setup": "lastbyte.cli.diagnose:setup",
    "clients": "lastbyte.cli.clients:clients_app",
    "ceilings": "lastbyte.cli.ceilings:ceilings_command",
    "acks": "lastbyte.cli.acks:acks_command",
    "heatmap": "lastbyte.cli.heatmap:heatmap_command",
    "import": "lastbyte.cli.import_:import_command",
    "export": "lastbyte.cli.import_:export_command",
    "capsule": "lastbyte.cli.capsule:capsule_app",
    "config": "lastbyte.cli.keeping:config_command",
    "backup": "lastbyte.cli.keeping:backup_command",
    "restore": "lastbyte.cli.keeping:restore_command",
    "campaign": "lastbyte.cli.campaigns:campaign_app",
    "schedule": "lastbyte.cli.schedules:schedule_app",
    "key": "lastbyte.cli.keys:key_app",
    "report": "lastbyte.cli.report_phases:report_app",
    "path": "netem.cli:path_app",
}
"""Name of each command, in the order of ``--help``, to its function or Typer app."""


class LazyCommands(TyperGroup):
    """The commands above; ``--help`` imports all of them, a call only its own."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            module, _, attribute = COMMANDS[cmd_name].partition(":")
            self.commands[cmd_name] = _command(cmd_name, getattr(import_module(module), attribute))
        return self.commands[cmd_name]


def _command(name: str, found: Any) -> Any:
    parent = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    parent.callback()(_nothing)  # with it the parent is a group, even of one command
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name)
    else:
        parent.command(name)(found)
    group: Any = typer.main.get_command(parent)
    return group.commands[name]


def _nothing() -> None:
    pass

"""``lastbyte``: one command for people and cron."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from lastbyte.cli import (
    acks,
    campaigns,
    capsule,
    ceilings,
    diagnose,
    heatmap,
    import_,
    keeping,
    keys,
    measure,
    report_phases,
    schedules,
)
from lastbyte.domain.errors import InvalidInput, LastbyteError
from lastbyte.embedded.cli import demo, up
from netem.cli import path_app

EXIT_BAD_INPUT = 2
EXIT_FAILED = 1

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="For this URL, on this network, is HTTP/3 faster than HTTP/2, and why?",
    epilog="First steps: [bold]lastbyte doctor[/], [bold]lastbyte measure URL[/], [bold]lastbyte up[/].",
)
app.command("measure")(measure.measure_command)
app.command("up")(up)
app.command("demo")(demo)
app.command("doctor")(diagnose.doctor)
app.command("profiles")(diagnose.profiles)
app.command("setup")(diagnose.setup)
app.command("ceilings")(ceilings.ceilings_command)
app.command("acks")(acks.acks_command)
app.command("heatmap")(heatmap.heatmap_command)
app.command("import")(import_.import_command)
app.command("export")(import_.export_command)
app.add_typer(capsule.capsule_app, name="capsule")
app.command("config")(keeping.config_command)
app.command("backup")(keeping.backup_command)
app.command("restore")(keeping.restore_command)
app.add_typer(campaigns.campaign_app, name="campaign")
app.add_typer(schedules.schedule_app, name="schedule")
app.add_typer(keys.key_app, name="key")
app.add_typer(report_phases.report_app, name="report")
app.add_typer(path_app, name="path")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(version("lastbyte"))
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; errors meant for people are printed as one sentence, without a traceback."""
    try:
        app()
    except InvalidInput as exc:
        Console(stderr=True).print(f"[red]error:[/] {escape(str(exc))}", highlight=False, soft_wrap=True)
        sys.exit(EXIT_BAD_INPUT)
    except LastbyteError as exc:
        Console(stderr=True).print(f"[red]error:[/] {escape(str(exc))}", highlight=False, soft_wrap=True)
        sys.exit(EXIT_FAILED)

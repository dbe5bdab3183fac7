"""``lastbyte``: one command for people and cron."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from lastbyte.cli.lazy import LazyCommands
from lastbyte.domain.errors import InvalidInput, LastbyteError

EXIT_BAD_INPUT = 2
EXIT_FAILED = 1

app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="For this URL, on this network, is HTTP/3 faster than HTTP/2, and why?",
    epilog="First steps: [bold]lastbyte doctor[/], [bold]lastbyte measure URL[/], [bold]lastbyte up[/].",
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415

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

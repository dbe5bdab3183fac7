"""``lastbyte clients``: the programs that fetch, and bringing the optional ones."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from lastbyte.domain.errors import LastbyteError, UnknownName

clients_app = typer.Typer(no_args_is_help=True, help="The programs that fetch: list them, bring the optional ones.")


@clients_app.command("list")
def list_clients() -> None:
    """Show every client with its build, or how to get it."""
    from lastbyte.provision import doctor  # noqa: PLC0415 - heavy, and --help must be quick

    Console().print(doctor.table(doctor.client_rows()))


@clients_app.command("install")
def install(
    programs: Annotated[list[str], typer.Argument(help="Names of programs, as `lastbyte clients list` shows them.")],
) -> None:
    """Bring programs that `lastbyte setup` leaves out because not everyone wants them.

    Example: lastbyte clients install quic-go curl-cffi
    """
    from lastbyte.adapters.client_descriptions import load_descriptions  # noqa: PLC0415 - heavy
    from lastbyte.provision.clients import client_status, install_client  # noqa: PLC0415 - heavy

    known = {description.program: description for description in load_descriptions()}
    for index, name in enumerate(programs):
        if name not in known:
            raise UnknownName(f"programs.{index}", "program", name, list(known))
    failed = False
    for name in dict.fromkeys(programs):
        try:
            install_client(known[name], lambda text, name=name: typer.echo(f"{name}: {text}", err=True))  # type: ignore[misc]
        except LastbyteError as exc:
            typer.echo(f"{name}: {exc}", err=True)
            failed = True
            continue
        status = client_status(known[name])
        typer.echo(f"{name}: {status.build.short_version if status.build else status.problem}", err=True)
        failed = failed or status.build is None
    if failed:
        raise typer.Exit(1)

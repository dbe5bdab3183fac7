"""``lastbyte up``: the whole system on this machine, in the foreground."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from lastbyte.domain.errors import LastbyteError
from lastbyte.embedded import demo as demo_campaign
from lastbyte.embedded.preflight import check_host, check_ports, lacking_rights, only_one, publish
from lastbyte.embedded.supervisor import Supervisor
from lastbyte.embedded.system import Plan, children
from lastbyte.settings import settings, var_dir


def _say(line: str) -> None:
    """Print at once; a terminal that has gone must not stop the system."""
    try:
        typer.echo(line)
    except OSError:
        return


def up(
    api_host: Annotated[
        str, typer.Option(help="IPv4 address that the API listens on; other than loopback it asks for keys.")
    ] = "127.0.0.1",
    api_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the REST API.")] = 8000,
    dashboard_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the dashboard on 127.0.0.1.")] = 8050,
    var: Annotated[
        Path | None,
        typer.Option(help="Folder for data, sockets and logs; LASTBYTE_VAR, else ./var.", show_default=False),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo/--no-demo", help="Post the demo campaign if there is none yet.")] = True,
    testbed: Annotated[bool, typer.Option("--testbed/--no-testbed", help="Run the local stand-in providers.")] = True,
    demo_rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds of the demo.")] = demo_campaign.ROUNDS,
) -> None:
    """Start everything on this machine and keep it running until Ctrl-C.

    An own PostgreSQL and Valkey (unix sockets below VAR, beside whatever
    the machine runs already), the migrations of the database, the testbed
    of three local origins, the REST API, a worker that measures, beat, and
    the dashboard. The first start also posts a small demo campaign, so that
    the heatmap fills within three minutes.

    Data stay in VAR over restarts; remove the folder to begin anew. A
    process that dies is started again. Measuring needs root; without it API
    and dashboard still start and show what is stored. To use a database or
    broker of your own, set LASTBYTE_DATABASE_URL or LASTBYTE_BROKER_URL,
    and none is started here.

    Examples:

      lastbyte up

      LASTBYTE_API_KEY=$(lastbyte key generate) lastbyte up --api-host 0.0.0.0

      lastbyte up --api-port 8001 --dashboard-port 8051 --var /tmp/second
    """
    folder = (var or var_dir()).expanduser().absolute()
    try:
        with only_one(folder):
            check_host(api_host)
            check_ports({"--api-port": api_port, "--dashboard-port": dashboard_port})
            measuring = os.geteuid() == 0
            plan = Plan(folder, api_port, dashboard_port, testbed and measuring, worker=measuring, api_host=api_host)
            if note := lacking_rights():
                _say(note)
            _keep(plan, demo_rounds if demo and plan.testbed else 0)
    except LastbyteError as error:
        typer.echo(f"lastbyte up: {error}", err=True)
        raise typer.Exit(1) from error
    _say("stopped; data kept")


def _keep(plan: Plan, demo_rounds: int) -> None:
    """Run the system of ``plan`` until a signal ends it."""
    supervisor = Supervisor(children(plan), plan.var / "log", _say)

    def announce() -> None:
        _say(
            f"\nlastbyte is up after {supervisor.elapsed_s():.1f} s\n"
            f"  dashboard   {plan.dashboard_url}\n"
            f"  API         {plan.api_url}/docs\n"
            f"  data        {plan.var} (kept over restarts)\n"
            f"  logs        {plan.var / 'log'}\n"
            "  stop        Ctrl-C\n"
        )
        if demo_rounds:
            threading.Thread(target=_run_demo, args=(plan, demo_rounds, supervisor), daemon=True).start()

    def changed() -> None:
        running = supervisor.processes()
        facts = {"pid": os.getpid(), "api": plan.api_url, "dashboard": plan.dashboard_url, "processes": running}
        publish(plan.var, facts if running else None)

    supervisor.run(announce, changed)


def _run_demo(plan: Plan, rounds: int, supervisor: Supervisor) -> None:
    rest = demo_campaign.Rest(plan.api_port, plan.api_connect_host, os.environ.get("LASTBYTE_API_KEY", ""))
    try:
        ident = demo_campaign.start(rest, rounds, _say)
        if ident is not None:
            demo_campaign.follow(rest, ident, _say, go_on=lambda: not supervisor.stopping)
    except LastbyteError as error:
        if not supervisor.stopping:
            _say(f"no demo campaign: {error}")


def demo(
    api: Annotated[
        str | None,
        typer.Option("--api", help="Root of the API; LASTBYTE_API_URL, else this machine's.", show_default=False),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds that count.")] = demo_campaign.ROUNDS,
) -> None:
    """Post the demo campaign to a running system and follow it to its end.

    Measures the testbed over HTTP/2 and HTTP/3. Does nothing when there is
    any campaign already.
    """
    place = urlsplit(api or settings().api_url)
    rest = demo_campaign.Rest(place.port or 80, place.hostname or "127.0.0.1", settings().api_key.get_secret_value())
    ident = demo_campaign.start(rest, rounds, _say)
    if ident is None:
        _say("there is a campaign already; no demo")
        return
    demo_campaign.follow(rest, ident, _say, go_on=lambda: True)

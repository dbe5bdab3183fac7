"""``lastbyte schedule``: campaigns that start by the clock, over the API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lastbyte.cli.api_client import (
    EXIT_CODES,
    EXIT_REFUSED,
    ApiClient,
    ApiUrl,
    AsJson,
    Json,
    api_at,
    give_up,
    print_json,
    say,
)
from lastbyte.cli.campaigns import read_json

schedule_app = typer.Typer(no_args_is_help=True, help="Schedules, over the API.", epilog=EXIT_CODES)


def _complete_schedule(context: typer.Context, incomplete: str) -> list[str]:
    try:
        with api_at(context.params.get("api")) as api:
            return [item["name"] for item in api.pages("/schedules") if item["name"].startswith(incomplete)]
    except typer.Exit:
        return []


Schedule = Annotated[
    str, typer.Argument(help="Name or id of the schedule.", show_default=False, autocompletion=_complete_schedule)
]


@schedule_app.command("list")
def list_schedules(api: ApiUrl = None, as_json: AsJson = False) -> None:
    """All schedules: when they come next, and what became of the last run."""
    with api_at(api) as remote:
        items = list(remote.pages("/schedules"))
    if as_json:
        print_json(items)
        return
    table = Table(box=None, header_style="bold")
    for column in ("id", "name", "when", "zone", "next", "last run"):
        table.add_column(column, overflow="fold")
    for item in items:
        last = item["last_run"]
        coming = item["next_runs"][0]["local"][:16].replace("T", " ") if item["next_runs"] else "never"
        table.add_row(
            str(item["id"]),
            escape(item["name"]),
            escape(item["words"]),
            item["time_zone"],
            coming if item["enabled"] else "disabled",
            f"{last['outcome']} {last['due_at'][:16].replace('T', ' ')}Z" if last else "-",
        )
    Console().print(table)


@schedule_app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Its name.", show_default=False)],
    cron: Annotated[str, typer.Argument(help='Five fields, for example "15 3 * * *".', show_default=False)],
    template: Annotated[
        Path,
        typer.Argument(help="JSON of the campaign, as for POST /campaigns; - is standard input.", show_default=False),
    ],
    zone: Annotated[str, typer.Option("--zone", help="IANA time zone whose clock counts.")] = "UTC",
    missed: Annotated[str, typer.Option(help="skip or catch-up.")] = "skip",
    overlap: Annotated[str, typer.Option(help="skip or queue.")] = "skip",
    disabled: Annotated[bool, typer.Option("--disabled", help="It starts only by hand.")] = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Start a campaign at the times of a cron expression.

    Examples:

      lastbyte schedule create nightly-home "15 3 * * *" campaign.json --zone Europe/Berlin
    """
    body: Json = {
        "name": name,
        "cron": cron,
        "time_zone": zone,
        "template": read_json(template),
        "missed": missed,
        "overlap": overlap,
        "enabled": not disabled,
    }
    with api_at(api) as remote:
        made = remote.call("POST", "/schedules", body=body)
    if as_json:
        print_json(made)
        return
    say(f"{made['words']}, {made['time_zone']}; next {made['next_runs'][0]['local']}")
    typer.echo(made["id"])


@schedule_app.command("enable")
def enable(schedule: Schedule, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """Let it start by the clock."""
    _switch(schedule, api, as_json, enabled=True)


@schedule_app.command("disable")
def disable(schedule: Schedule, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """Put it aside; what runs goes on."""
    _switch(schedule, api, as_json, enabled=False)


@schedule_app.command("run")
def run(schedule: Schedule, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """Start its campaign now and print the campaign's id."""
    with api_at(api) as remote:
        started = remote.call("POST", f"/schedules/{_find(remote, schedule)}/run")
    if as_json:
        print_json(started)
    elif started["campaign_id"]:
        typer.echo(started["campaign_id"])
    else:
        say(started["reason"])


@schedule_app.command("next")
def next_runs(schedule: Schedule, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """Its next five runs, in words and on its clock."""
    with api_at(api) as remote:
        found = remote.call("GET", f"/schedules/{_find(remote, schedule)}")
    if as_json:
        print_json({key: found[key] for key in ("words", "time_zone", "enabled", "next_runs", "clock_notes")})
        return
    say(found["words"] + ("" if found["enabled"] else " (disabled: it would come at)"))
    for moment in found["next_runs"]:
        typer.echo(f"{moment['local']}  ({moment['at'][:16]}Z)")
    for note in found["clock_notes"]:
        say(note)


@schedule_app.command("delete")
def delete(
    schedule: Schedule,
    yes: Annotated[bool, typer.Option("--yes", help="Without asking.")] = False,
    api: ApiUrl = None,
) -> None:
    """Forget a schedule; its campaigns stay."""
    with api_at(api) as remote:
        ident = _find(remote, schedule)
        if not yes:
            typer.confirm(f"Delete schedule {schedule}?", abort=True)
        remote.call("DELETE", f"/schedules/{ident}")
    say("deleted")


def _switch(schedule: str, api: str | None, as_json: bool, *, enabled: bool) -> None:
    with api_at(api) as remote:
        found = remote.call("PATCH", f"/schedules/{_find(remote, schedule)}", body={"enabled": enabled})
    if as_json:
        print_json(found)
    else:
        say(f"{found['name']} is {'enabled; next ' + found['next_runs'][0]['local'] if enabled else 'disabled'}")


def _find(remote: ApiClient, schedule: str) -> int:
    """Its id; a name that looks like a number is taken for one only when there is no such id."""
    items = list(remote.pages("/schedules"))
    same = [item for key in ("id", "name") for item in items if str(item[key]) == schedule]
    if not same:
        names = ", ".join(item["name"] for item in items) or "none"
        give_up(EXIT_REFUSED, f"There is no schedule {schedule!r}. Known: {names}.")
    return int(same[0]["id"])

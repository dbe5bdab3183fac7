"""``lastbyte campaign``: campaigns over the API, for people and for CI."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from lastbyte.cli.api_client import (
    EXIT_CODES,
    EXIT_FAILED,
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
from lastbyte.cli.files import written

campaign_app = typer.Typer(no_args_is_help=True, help="Campaigns, over the API.", epilog=EXIT_CODES)

POLL_S = 1.0
OVER = ("done", "cancelled")


def _ids(url: str | None, incomplete: str) -> Iterator[str]:
    with api_at(url) as api:
        yield from (item["id"] for item in api.pages("/campaigns", limit=50) if item["id"].startswith(incomplete))


def _complete_campaign(context: typer.Context, incomplete: str) -> list[str]:
    try:
        return list(_ids(context.params.get("api"), incomplete))
    except typer.Exit:
        return []


Campaign = Annotated[
    str, typer.Argument(help="Id of the campaign.", show_default=False, autocompletion=_complete_campaign)
]


@campaign_app.command("create")
def create(
    file: Annotated[
        Path | None, typer.Argument(help="JSON as for POST /campaigns; - reads standard input.", show_default=False)
    ] = None,
    endpoint: Annotated[list[str] | None, typer.Option("--endpoint", "-e", help="Id or https URL.")] = None,
    profile: Annotated[list[str] | None, typer.Option("--profile", "-p", help="Network condition.")] = None,
    client: Annotated[list[str] | None, typer.Option("--client", "-c", help="Client, or program for all.")] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", "-n", help="Counted rounds per cell.")] = None,
    name: Annotated[str | None, typer.Option(help="For people.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the order of clients.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow it to its end.")] = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Create a campaign and print its id.

    Examples:

      lastbyte campaign create -e testbed-caddy-1MB -p baseline -p loss-1 -c curl-quiche -n 10 --watch

      lastbyte campaign create nightly.json
    """
    body: Json = read_json(file) if file is not None else {}
    given = {
        "endpoints": endpoint,
        "profiles": profile,
        "clients": client,
        "rounds": rounds,
        "name": name,
        "seed": seed,
    }
    body.update({field: value for field, value in given.items() if value is not None})
    with api_at(api) as remote:
        made = remote.call("POST", "/campaigns", body=body)
        if not watch:
            print_json(made) if as_json else typer.echo(made["id"])
            return
        _end(_follow(remote, made["id"], quiet=as_json), as_json)


@campaign_app.command("list")
def list_campaigns(
    state: Annotated[str | None, typer.Option(help="queued, running, paused, done or cancelled.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Campaigns, newest first."""
    with api_at(api) as remote:
        items = list(remote.pages("/campaigns", limit=limit, params={"state": state}))
    if as_json:
        print_json(items)
        return
    table = Table(box=None, header_style="bold")
    for column in ("id", "name", "state", "trials", "failed", "created"):
        table.add_column(column, overflow="fold")
    for item in items:
        trials = f"{item['trials_done']}/{item['trials_planned']}"
        cells = (item["id"], item["name"], item["state"], trials, str(item["trials_failed"]), item["created_at"][:16])
        table.add_row(*map(escape, cells))
    Console().print(table)


@campaign_app.command("show")
def show(campaign: Campaign, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """One campaign with its progress."""
    with api_at(api) as remote:
        found = remote.call("GET", f"/campaigns/{campaign}")
    if as_json:
        print_json(found)
        return
    for field in ("id", "name", "state", "endpoints", "profiles", "clients", "rounds", "seed", "vantage", "created_at"):
        value = found.get(field)
        typer.echo(f"{field:<12} {', '.join(map(str, value)) if isinstance(value, list) else value}")
    typer.echo(f"{'trials':<12} {found['trials_done']} of {found['trials_planned']}, {found['trials_failed']} failed")


@campaign_app.command("watch")
def watch_campaign(campaign: Campaign, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """Follow a campaign to its end; 0 when it is done, 1 when it was cancelled. Ctrl-C leaves it alone."""
    with api_at(api) as remote:
        _end(_follow(remote, campaign, quiet=as_json), as_json)


@campaign_app.command("export")
def export(
    campaign: Campaign,
    file: Annotated[Path, typer.Argument(help="File to write: .csv, .jsonl or .parquet.", show_default=False)],
    api: ApiUrl = None,
) -> None:
    """Write every trial of a campaign into a file, as the API exports it.

    It streams, however many trials there are. The file that lastbyte import
    reads is written by lastbyte export, which needs the database.

    Examples:

      lastbyte campaign export 3f0e... trials.parquet
    """
    kind = file.suffix.lstrip(".")
    if kind not in ("csv", "jsonl", "parquet"):
        give_up(EXIT_REFUSED, f"{file} ends with neither .csv, .jsonl nor .parquet.")
    with api_at(api) as remote, remote.download(f"/campaigns/{campaign}/trials.{kind}") as chunks, written(file) as out:
        for chunk in chunks:
            out.write(chunk)
    say(f"wrote {file}: {file.stat().st_size} bytes")


def _steer(action: str, campaign: str, api: str | None, as_json: bool) -> None:
    with api_at(api) as remote:
        found = remote.call("POST", f"/campaigns/{campaign}/{action}")
    print_json(found) if as_json else say(f"{found['name']} is {found['state']}")


@campaign_app.command("cancel")
def cancel(campaign: Campaign, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """Stop a campaign; what was measured stays."""
    _steer("cancel", campaign, api, as_json)


@campaign_app.command("pause")
def pause(campaign: Campaign, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """Hold a campaign until it is resumed."""
    _steer("pause", campaign, api, as_json)


@campaign_app.command("resume")
def resume(campaign: Campaign, api: ApiUrl = None, as_json: AsJson = False) -> None:
    """Let a paused campaign go on."""
    _steer("resume", campaign, api, as_json)


@campaign_app.command("delete")
def delete(
    campaign: Campaign,
    yes: Annotated[bool, typer.Option("--yes", help="Without asking.")] = False,
    api: ApiUrl = None,
) -> None:
    """Remove a campaign that is over, with all that it measured."""
    if not yes:
        typer.confirm(f"Delete campaign {campaign} with its trials?", abort=True)
    with api_at(api) as remote:
        remote.call("DELETE", f"/campaigns/{campaign}")
    say("deleted")


@campaign_app.command(
    "compare", epilog="Exit codes: 0 pass; 1 fail; 2 inconclusive or refused input; 3 no answer; 4 not allowed."
)
def compare(
    baseline: Campaign,
    candidate: Campaign,
    tolerance_pct: Annotated[float, typer.Option(help="Slower by up to this much passes, in percent.")] = 5.0,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Has CANDIDATE become slower than BASELINE? Made for CI.

    Examples:

      lastbyte campaign compare $LAST_RELEASE $THIS_BUILD --tolerance-pct 5
    """
    params: Json = {
        "baseline": baseline,
        "candidate": candidate,
        "tolerance_pct": tolerance_pct,
        "confidence": confidence,
    }
    with api_at(api) as remote:
        found = remote.call("GET", "/compare", params=params)
    if as_json:
        print_json(found)
    else:
        _show_comparison(found)
    raise typer.Exit(int(found["exit_code"]))


def _show_comparison(found: Json) -> None:
    table = Table(box=None, header_style="bold")
    for column in ("endpoint", "profile", "client", "n", "slower by", "interval", "verdict", "reason"):
        table.add_column(column, overflow="fold")
    for item in found["items"]:
        diff, low, high = item["diff_pct"], item["ci_low_pct"], item["ci_high_pct"]
        table.add_row(
            escape(item["endpoint"]),
            escape(item["profile"]),
            escape(item["client"]),
            f"{item['baseline']['n']}/{item['candidate']['n']}",
            "-" if diff is None else f"{diff:+.1f} %",
            "-" if low is None or high is None else f"{low:+.1f} to {high:+.1f} %",
            item["verdict"],
            escape(item["reason"]),
        )
    console = Console()
    console.print(table)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found["counts"].items())
    console.print(f"{found['verdict']} ({counts}; up to {found['tolerance_pct']:g} % slower passes)", highlight=False)


def _follow(remote: ApiClient, ident: str, *, quiet: bool) -> Json:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    progress = Progress(*columns)
    task = progress.add_task("trials", total=None, note="")
    console = Console(stderr=True)
    with nullcontext() if quiet else Live(progress, console=console, refresh_per_second=4):
        while True:
            found = remote.call("GET", f"/campaigns/{ident}")
            done = found["trials_done"] + found["trials_saved"]
            progress.update(task, completed=done, total=found["trials_planned"], note=_note(found))
            if found["state"] in OVER:
                return found
            time.sleep(POLL_S)


def _note(found: Json) -> str:
    left = found["eta_s"]
    parts = [found["state"], f"{found['trials_failed']} failed"]
    if left:
        parts.append(f"{timedelta(seconds=round(left))} left")
    return escape("; ".join([*parts, *found["waiting_for"]]))


def _end(found: Json, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        typer.echo(found["id"])
        say(f"{found['name']} is {found['state']}: {found['trials_done']} trials, {found['trials_failed']} failed")
    if found["state"] != "done":
        raise typer.Exit(EXIT_FAILED)


def read_json(file: Path) -> Json:
    """One JSON object from a file or, for ``-``, from standard input."""
    try:
        text = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError) as exc:
        give_up(EXIT_REFUSED, f"{file} can't be read as JSON: {exc}")
    if not isinstance(found, dict):
        give_up(EXIT_REFUSED, f"{file} holds no JSON object.")
    return found

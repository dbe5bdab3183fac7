"""``lastbyte measure``: one URL, here and now, no server and no database."""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lastbyte.domain.campaign import MAX_ROUNDS, AaArms
from lastbyte.domain.capture import CapturePolicy
from lastbyte.domain.client import expand_clients, pinned
from lastbyte.domain.courtesy import Permission
from lastbyte.domain.endpoint import Origin
from lastbyte.domain.errors import InvalidInput, UnknownName
from lastbyte.domain.profile import Profile
from lastbyte.domain.tls import TLS_GROUPS, check_groups
from lastbyte.domain.trial import Trial
from lastbyte.ports import ClientRunner
from lastbyte.services.campaigns import with_aa_arms

if TYPE_CHECKING:
    from lastbyte.cli.report import Ticker
    from lastbyte.services.one_shot import OneShot

EXIT_INTERRUPTED = 130
EXIT_REFUSED = 1
"""The host's budget of the day is used up; what was measured until then is reported."""


def measure_command(
    url: Annotated[str, typer.Argument(help="The https URL to fetch.", metavar="URL")],
    rounds: Annotated[int, typer.Option("--rounds", "-n", help="Counted rounds; one warm-up round comes on top.")] = 10,
    directory: Annotated[
        Path | None, typer.Option("--dir", "-d", help="Folder for the results as JSON; made when it is missing.")
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            "--profile",
            "-p",
            help="Network condition; may be given again. Default: unshaped, for the testbed baseline.",
        ),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", "-c", help="Client or program; may be given again. Default: curl-quiche (H2 and H3)."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the order of arms; drawn and printed when left out.")
    ] = None,
    aa: Annotated[
        bool, typer.Option("--aa", help="Run the first H2 client twice in each round, to see the noise floor.")
    ] = False,
    capture: Annotated[
        CapturePolicy,
        typer.Option(
            help="Rounds on top in which packets, TLS keys and qlog are kept (in captures/ of --dir); never counted."
        ),
    ] = CapturePolicy.NEVER,
    tls_group: Annotated[
        list[str] | None,
        typer.Option(help=f"Key exchange group to offer, and no other; may be given again. {', '.join(TLS_GROUPS)}."),
    ] = None,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Limit of one trial, in seconds.", min=0.1)] = 60.0,
    box: Annotated[str, typer.Option(help="What shapes the link: auto, kernel or uml.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON on standard output.")] = False,
) -> None:
    """Compare HTTP/2 and HTTP/3 for one URL: interleaved rounds through a shaped link that is probed first.

    Examples:

      lastbyte measure https://example.org/file.bin

      lastbyte measure https://example.org/file.bin -n 20 -p baseline -p loss-1 -d results

      lastbyte measure https://testbed-caddy.test/1MB.bin -p delay-50     (local stand-in, no Internet needed)

      lastbyte measure https://testbed-caddy.test/1MB.bin -p loss-1 --capture last-round -d results
    """
    # NumPy and netem are heavy to import, and --help must be quick
    from lastbyte import wiring  # noqa: PLC0415
    from lastbyte.adapters.artifact_files import PlainFiles  # noqa: PLC0415
    from lastbyte.adapters.courtesy_file import CourtesyFile  # noqa: PLC0415
    from lastbyte.cli import report  # noqa: PLC0415
    from lastbyte.services.one_shot import OneShot, measure  # noqa: PLC0415
    from lastbyte.settings import settings  # noqa: PLC0415

    if not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidInput("--rounds", f"{rounds} is out of range.", f"Use 1 to {MAX_ROUNDS}.")
    if capture.rounds and directory is None:
        raise InvalidInput("--capture", "needs a place for its files.", "Name a folder with --dir.")
    endpoint = wiring.endpoint_of(url)
    default = "baseline" if endpoint.origin is Origin.TESTBED else "unshaped"  # a testbed's bare link is no network
    profiles = _chosen_profiles(profile or [default], wiring.profiles())
    clients = expand_clients(client or ["curl-quiche"], wiring.clients(), "--client")
    check_groups(tls_group or [], "--tls-group")
    clients = [pinned(item, tls_group or [], "--tls-group") for item in clients]
    if aa:
        clients = with_aa_arms(clients, AaArms.BASELINE)
    if directory is not None:
        _make_directory(directory)
    console = Console(stderr=True)
    chosen_seed = seed if seed is not None else random.SystemRandom().randrange(2**31)
    stop = threading.Event()
    files = PlainFiles(directory / "captures") if directory else None
    with wiring.testbed_for(endpoint), wiring.bench(stop, box, files) as bench, stop_on_signals(stop, bench.runner):
        job = OneShot(endpoint, profiles, tuple(clients), rounds, chosen_seed, timeout_s, capture)
        started_at = datetime.now(UTC)
        courtesy = CourtesyFile(endpoint.host, wiring.courtesy(settings()))
        with _progress(console, job) as tick:

            def on_trial(condition: Profile, trial: Trial) -> None:
                if endpoint.origin is not Origin.TESTBED:
                    courtesy.ended(trial.observation.body_bytes or 0)
                tick(condition, trial)

            results = measure(job, bench, on_trial, courtesy.reserve)
    document = report.document(job, results, started_at, interrupted=stop.is_set() or courtesy.refused is not None)
    if directory is not None:
        file = report.write(document, directory, endpoint)
        console.print(f"Results: {file}", highlight=False, soft_wrap=True)
    if as_json:
        sys.stdout.write(report.dumps(document))
    else:
        report.print_tables(Console(), job, results)
    _leave(console, courtesy.refused, interrupted=stop.is_set())


def _leave(console: Console, refused: Permission | None, *, interrupted: bool) -> None:
    """Exit with what kept the measurement from its end; return when nothing did."""
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if refused is not None:
        console.print(f"error: {refused.reason}", highlight=False, soft_wrap=True)
        raise typer.Exit(EXIT_REFUSED)


def _chosen_profiles(names: list[str], known: dict[str, Profile]) -> tuple[Profile, ...]:
    for name in names:
        if name not in known:
            raise UnknownName("--profile", "profile", name, list(known))
    return tuple(known[name] for name in dict.fromkeys(names))


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise InvalidInput("--dir", f"{directory} can't be made: {exc.strerror}.", "Choose another folder.") from exc


@contextlib.contextmanager
def stop_on_signals(stop: threading.Event, runner: ClientRunner) -> Iterator[None]:
    """Ctrl-C and SIGTERM end after the trial under way; what was measured is still reported."""

    def handle(_number: int, _frame: object) -> None:
        stop.set()
        runner.terminate_current()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _progress(console: Console, job: OneShot) -> Iterator[Ticker]:
    from lastbyte.cli.report import outcome  # noqa: PLC0415

    where = "testbed " if job.endpoint.origin is Origin.TESTBED else ""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task(f"{where}{job.endpoint.host}", total=job.trials_planned, last="probing the link")

        def tick(profile: Profile, trial: Trial) -> None:
            progress.update(task, advance=1, last=f"{profile.name} {trial.client_id} {outcome(trial)}")

        yield tick

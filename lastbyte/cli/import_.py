"""``lastbyte import`` and ``lastbyte export``: results from elsewhere into the database, and ours out of it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from lastbyte.cli import foreign
from lastbyte.cli.files import written
from lastbyte.cli.store import DatabaseUrl, engine_for
from lastbyte.domain.errors import InvalidInput
from lastbyte.services.imported import ImportedResults, OnError

if TYPE_CHECKING:
    from sqlalchemy import Engine


class ExportFormat(enum.StrEnum):
    """Ways to write trials."""

    CSV = "csv"
    JSONL = "jsonl"


def import_command(
    path: foreign.Source,
    name: Annotated[
        str, typer.Option(help="Name of the campaign; default: Imported: and the folder.", show_default=False)
    ] = "",
    on_error: foreign.OnErrorOption = OnError.REFUSE,
    protocol: foreign.ProtocolOption = None,
    unit: foreign.UnitOption = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Store results made elsewhere as a finished campaign, for the same heatmaps.

    Reads folders of timings (NETWORK/DOMAIN/SIZE/CLIENT.json, arrays of
    milliseconds), folders of socket samples (samples_threshold5_dev2_delay0/...),
    and lastbyte's own trials as .csv or .jsonl. All is stored, or nothing is;
    the campaign says that it was imported and from where.

    Examples:

      lastbyte import results/timings

      lastbyte import results/timings --name "WWW 2021" --on-error skip

      lastbyte import trials.jsonl --database-url postgresql+psycopg://me@db/x
    """
    results = foreign.read(path, protocol, unit, on_error)
    with engine_for(database_url) as engine:
        campaign_id = _store(engine, results, name, path)
    console = Console(stderr=True)
    for bad in results.bad:
        console.print(f"[yellow]left out:[/] {escape(str(bad))}", highlight=False, soft_wrap=True)
    for note in results.notes:
        console.print(f"[dim]{escape(note)}[/]", highlight=False, soft_wrap=True)
    cells, trials = len(results.cells), results.trials
    console.print(f"Imported {trials} trials in {cells} cells of {len(results.clients)} clients.", highlight=False)
    typer.echo(campaign_id)


def export_command(
    campaign: Annotated[str, typer.Argument(help="Id of the campaign.", metavar="CAMPAIGN", show_default=False)],
    file: Annotated[Path, typer.Argument(help="File to write.", metavar="FILE", show_default=False)],
    kind: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="csv or jsonl; default: by the file's ending.", show_default=False),
    ] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Write every trial of a campaign as CSV, or as JSON lines with proofs.

    JSON lines are exact and carry all that lastbyte import needs; a CSV holds
    names and numbers only. To take a whole campaign elsewhere, see lastbyte
    capsule.

    Examples:

      lastbyte export 3f0e... trials.csv

      lastbyte export 3f0e... trials.jsonl
    """
    chosen = kind or _by_ending(file)
    with engine_for(database_url) as engine, written(file) as out:
        count = 0
        for count, line in enumerate(_lines(engine, campaign, chosen)):  # noqa: B007 - the header is line 0
            out.write(line.encode())
    trials = count if chosen is ExportFormat.CSV else count - 1
    Console(stderr=True).print(f"Wrote {trials} trials to {escape(str(file))}.", highlight=False, soft_wrap=True)


def _store(engine: Engine, results: ImportedResults, name: str, path: Path) -> str:
    from lastbyte.adapters.postgres.import_store import PostgresImportStore  # noqa: PLC0415

    source: dict[str, object] = {
        "kind": "import",
        "format": results.format,
        "origin": str(path),
        "imported_at": datetime.now(UTC),
        "notes": list(results.notes),
        "left_out": [str(bad) for bad in results.bad],
    }
    title = name.strip() or f"Imported: {path.resolve().name}"
    return PostgresImportStore(engine).store(results, title[:200], source)


def _lines(engine: Engine, campaign_id: str, kind: ExportFormat) -> Iterator[str]:
    from lastbyte.adapters.importers import trial_csv, trial_lines  # noqa: PLC0415
    from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore  # noqa: PLC0415
    from lastbyte.adapters.postgres.result_store import PostgresResultStore  # noqa: PLC0415

    campaign = PostgresCampaignStore(engine).get(campaign_id)
    results = PostgresResultStore(engine)
    trials = results.all_trials(campaign.id)
    if kind is ExportFormat.CSV:
        return trial_csv.write_rows(trials)
    return trial_lines.write_lines(campaign, results.arms(campaign.id), results.cells(campaign.id), trials)


def _by_ending(file: Path) -> ExportFormat:
    try:
        return ExportFormat(file.suffix.lstrip("."))
    except ValueError as exc:
        raise InvalidInput("FILE", f"{file} ends with neither .csv nor .jsonl.", "Say --format csv or jsonl.") from exc

"""Options shared by the commands that read results made elsewhere."""

from __future__ import annotations

import enum
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastbyte.domain.client import Protocol
from lastbyte.domain.errors import InvalidInput
from lastbyte.services.imported import ImportedResults, OnError, accept

if TYPE_CHECKING:
    from lastbyte.adapters.importers.reading import ReadOptions


class Unit(enum.StrEnum):
    """Units of foreign times."""

    MS = "ms"
    S = "s"
    US = "us"


Source = Annotated[Path, typer.Argument(help="Folder or file of results.", metavar="DIR|FILE", show_default=False)]
ProtocolOption = Annotated[
    list[str] | None,
    typer.Option(
        "--protocol",
        help="CLIENT=h2 or CLIENT=h3, where a client's name does not tell; may be given again.",
        show_default=False,
    ),
]
UnitOption = Annotated[
    Unit | None,
    typer.Option("--unit", help="Unit of the times of a folder of timings; default: ms, and checked to be so."),
]
OnErrorOption = Annotated[
    OnError, typer.Option("--on-error", help="Files that can't be read: refuse everything, or skip just them.")
]


def read(path: Path, protocols: list[str] | None, unit: Unit | None, on_error: OnError) -> ImportedResults:
    """The results at ``path`` as asked for; raises InvalidInput."""
    from lastbyte.adapters.importers.reading import read_results  # noqa: PLC0415 - heavy, and --help must be quick

    return accept(read_results(path, _options(path, protocols, unit)), on_error)


def _options(path: Path, protocols: list[str] | None, unit: Unit | None) -> ReadOptions:
    from lastbyte.adapters.importers.reading import ReadOptions  # noqa: PLC0415

    options = ReadOptions(
        protocols=dict(_override(item) for item in protocols or []), unit=unit.value if unit else None
    )
    return _with_catalogue(options) if path.suffix == ".csv" else options


def _with_catalogue(options: ReadOptions) -> ReadOptions:
    from lastbyte import wiring  # noqa: PLC0415
    from lastbyte.adapters.endpoints_file import load_endpoints  # noqa: PLC0415
    from lastbyte.settings import settings  # noqa: PLC0415
    from testbed.catalogue import endpoints as testbed_endpoints  # noqa: PLC0415

    return replace(
        options,
        endpoints=[*testbed_endpoints(), *load_endpoints(settings().endpoints_file)],
        profiles=wiring.profiles(),
        clients=wiring.clients(),
    )


def _override(item: str) -> tuple[str, Protocol]:
    client, _, protocol = item.partition("=")
    if not client or protocol not in {known.value for known in Protocol}:
        raise InvalidInput("--protocol", f"{item!r} is not like CLIENT=h2 or CLIENT=h3.")
    return client, Protocol(protocol)

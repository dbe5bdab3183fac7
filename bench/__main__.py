"""``python -m bench``: run one benchmark or all, print tables and, with --json, the figures for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from bench import (
    aa,
    api,
    capture,
    containers,
    dashboard,
    fidelity,
    harness,
    link,
    link_in_guest,
    read,
    scale,
    startup,
    stats,
    store,
    theory,
    write,
)

BENCHES: dict[str, Callable[[], dict[str, Any]]] = {
    "startup": startup.run,
    "harness": harness.run,
    "link": link.run,
    "link-kernel": link_in_guest.run,
    "fidelity": fidelity.run,
    "capture": capture.run,
    "theory": theory.run,
    "aa": aa.run,
    "store": store.run,
    "stats": stats.run,
    "containers": containers.run,
    "dashboard": dashboard.run,
    "write": write.run,
    "api": api.run,
}

LONG: dict[str, Callable[[], dict[str, Any]]] = {
    "read": read.run,
    "scale": scale.run,
}
"""Those that take many minutes or gigabytes run only when they are named."""

ALL = {**BENCHES, **LONG}
_WHICH = f"Which: {', '.join(ALL)}. Default: all but {' and '.join(LONG)}."


def main(
    names: Annotated[list[str] | None, typer.Argument(help=_WHICH)] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file too.")] = None,
    client: Annotated[
        list[str] | None, typer.Option("--client", help="For capture: the clients or programs to check, if others.")
    ] = None,
    trials: Annotated[
        int, typer.Option(help="With --client: trials of each client and profile.", min=1)
    ] = capture.TRIALS,
) -> None:
    """Measure what lastbyte costs and how true its link is, on this machine, now. Needs root; about 15 minutes."""
    unknown = [name for name in names or () if name not in ALL]
    if unknown:
        typer.echo(f"error: there is no benchmark {unknown[0]!r}. Known: {', '.join(ALL)}.", err=True)
        raise typer.Exit(2)
    figures = {}
    for name in names or BENCHES:
        typer.echo(f"\n== {name}")
        figures[name] = capture.run(client, trials) if client and name == "capture" else ALL[name]()
    if json_file is not None:
        json_file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    missed = [
        f"{bench}: {goal['what']} is {goal['value']:.4g}, wanted at most {goal['at_most']:g}"
        for bench, result in figures.items()
        for goal in result.get("goals", [])
        if goal["value"] > goal["at_most"]
    ]
    typer.echo("\n" + ("\n".join(missed) if missed else "every goal reached"))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    typer.run(main)

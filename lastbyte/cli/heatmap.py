"""``lastbyte heatmap``: heatmaps straight from a folder or file of results, no services needed."""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.style import Style
from rich.table import Table
from rich.text import Text

from lastbyte.cli import foreign
from lastbyte.domain.endpoint import Origin, size_order
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.profile import Profile
from lastbyte.services.imported import ImportedResults, OnError
from lastbyte.services.replay import Arm, Mode, Replay, ReplayCell, Square, paired_mode, paper_mode, replay

FORMAT = "lastbyte-heatmap/1"
_WIDTH = 15


class ModeName(enum.StrEnum):
    """Definitions of the heatmap."""

    YU2020 = "yu2020"
    YU2021 = "yu2021"
    LASTBYTE = "lastbyte"


def heatmap_command(
    path: foreign.Source,
    mode: Annotated[
        ModeName,
        typer.Option(
            help="yu2020: best means, 0 unless significant. yu2021: best medians. lastbyte: one pair of clients,"
            " median of log ratios with interval and verdict."
        ),
    ] = ModeName.LASTBYTE,
    baseline: Annotated[
        str | None, typer.Option(help="H2 client of mode lastbyte; default: the first.", show_default=False)
    ] = None,
    candidate: Annotated[
        str | None,
        typer.Option(help="H3 client of mode lastbyte; default: of the same program, if any.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the heatmap as JSON, in full digits.")] = False,
    on_error: foreign.OnErrorOption = OnError.REFUSE,
    protocol: foreign.ProtocolOption = None,
    unit: foreign.UnitOption = None,
) -> None:
    """Heatmaps of HTTP/3 against HTTP/2 from files: conditions by sizes.

    Blue and negative: H3 is faster; red and positive: slower. The yu modes are
    the two definitions of Yu and Benson, which pick the best of several clients
    on each side: that favours the side with more clients.

    Examples:

      lastbyte heatmap results/timings --mode yu2020

      lastbyte heatmap results/timings --baseline chrome_h2 --candidate chrome_h3

      lastbyte heatmap trials.jsonl --json
    """
    results = foreign.read(path, protocol, unit, on_error)
    heatmap = replay(results, _mode(mode, results, baseline, candidate))
    if as_json:
        sys.stdout.write(json.dumps(document(heatmap), indent=2) + "\n")
    else:
        print_heatmap(Console(), heatmap)


def document(heatmap: Replay) -> dict[str, Any]:
    """The heatmap as one JSON document; times in milliseconds, differences in percent."""
    mode, source = heatmap.mode, heatmap.source
    return {
        "format": FORMAT,
        "mode": mode.name,
        "caption": mode.caption,
        "scale_pct": [-mode.limit_pct, mode.limit_pct],
        "source": {"format": source.format, "origin": source.origin},
        "clients": [{"id": client.id, "protocol": client.protocol.value} for client in source.clients],
        "notes": list(heatmap.notes),
        "left_out": [str(bad) for bad in source.bad],
        "providers": [
            {
                "provider": provider.provider,
                "origin": provider.origin,
                "cells": [_cell(cell) for cell in provider.cells],
            }
            for provider in heatmap.providers
        ],
    }


def print_heatmap(console: Console, heatmap: Replay) -> None:
    """A table for each provider and kind of condition, coloured like the pictures of the paper."""
    console.print(f"[bold]{heatmap.mode.name}[/]  {escape(heatmap.mode.caption)}", highlight=False, soft_wrap=True)
    for provider in heatmap.providers:
        for title, label, cells in _kinds(provider.cells):
            place = " (testbed stand-in)" if provider.origin == Origin.TESTBED else ""
            head = f"{provider.provider}{place}  {title}"
            console.print(f"\n[bold]{escape(head)}[/]", highlight=False, soft_wrap=True)
            console.print(_table(label, cells, heatmap.mode))
    console.print("Blue, negative: H3 faster. Red, positive: H3 slower.", highlight=False)
    for note in heatmap.notes:
        console.print(f"[dim]{escape(note)}[/]", highlight=False, soft_wrap=True)
    for bad in heatmap.source.bad:
        console.print(f"[yellow]left out:[/] {escape(str(bad))}", highlight=False, soft_wrap=True)


def colour(diff_pct: float, limit_pct: float) -> tuple[int, int, int]:
    """Blue over white to red, linear from minus to plus ``limit_pct``, as matplotlib's ``bwr``."""
    share = max(-1.0, min(1.0, diff_pct / limit_pct))
    faded = round(255 * (1 - abs(share)))
    return (faded, faded, 255) if share < 0 else (255, faded, faded)


def _mode(name: ModeName, results: ImportedResults, baseline: str | None, candidate: str | None) -> Mode:
    if name is ModeName.LASTBYTE:
        return paired_mode(results, baseline, candidate)
    if baseline or candidate:
        raise InvalidInput("--baseline", f"has no meaning in mode {name}, which picks the best clients itself.")
    return paper_mode("yu2020" if name is ModeName.YU2020 else "yu2021")


def _cell(cell: ReplayCell) -> dict[str, Any]:
    square, profile = cell.square, cell.profile
    return {
        "size_label": cell.size_label,
        "profile": profile.name,
        "loss_pct": profile.loss_pct,
        "extra_rtt_ms": profile.extra_rtt_ms,
        "rate_mbit_s": profile.rate_mbit_s,
        "diff_pct": square.diff_pct,
        "shown": square.shown,
        "p_value": square.p_value,
        "ci_low_pct": square.ci_low_pct,
        "ci_high_pct": square.ci_high_pct,
        "verdict": square.verdict,
        "pairing": square.pairing,
        "baseline": _arm(square.baseline),
        "candidate": _arm(square.candidate),
        "h3_clients_over_best_pct": None if square.clients_pct is None else dict(square.clients_pct),
    }


def _arm(arm: Arm | None) -> dict[str, Any] | None:
    if arm is None:
        return None
    return {"client": arm.client, "n": arm.n, "mean_ms": arm.mean_ms, "median_ms": arm.median_ms}


Label = Callable[[Profile], str]


def _kinds(cells: Sequence[ReplayCell]) -> list[tuple[str, Label, list[ReplayCell]]]:
    """Cells by kind of condition, as the paper draws them; the unimpaired one heads each kind it fits."""
    found: list[tuple[str, Label, list[ReplayCell]]] = []
    for rate in sorted({cell.profile.rate_mbit_s or 0.0 for cell in cells}):
        same = [cell for cell in cells if (cell.profile.rate_mbit_s or 0.0) == rate]
        link = f"{rate:g} Mbit/s" if rate else "no rate limit"
        loss = [cell for cell in same if not cell.profile.extra_rtt_ms]
        delay = [cell for cell in same if not cell.profile.loss_pct]
        both = [cell for cell in same if cell.profile.loss_pct and cell.profile.extra_rtt_ms]
        has_loss, has_delay = len(loss) > len(_clear(loss)), len(delay) > len(_clear(delay))
        if has_loss or not has_delay:
            found.append((f"Extra Loss, {link}", lambda p: _named(p, f"{p.loss_pct:g}%"), loss))
        if has_delay:
            found.append((f"Extra Delay, {link}", lambda p: _named(p, f"{p.extra_rtt_ms:g}ms"), delay))
        if both:
            found.append(
                (f"Loss and Delay, {link}", lambda p: _named(p, f"{p.loss_pct:g}% {p.extra_rtt_ms:g}ms"), both)
            )
    return [(title, label, items) for title, label, items in found if items]


def _clear(cells: Sequence[ReplayCell]) -> list[ReplayCell]:
    return [cell for cell in cells if not cell.profile.loss_pct and not cell.profile.extra_rtt_ms]


def _named(profile: Profile, label: str) -> str:
    """``label``, with the kind of loss or jitter that a folder's name adds (``1% burst``)."""
    extra = [word for word in ("burstingress", "burstegress", "burst", "jitter") if word in profile.name]
    return f"{label} {extra[0]}" if extra else label


def _table(label: Label, cells: Sequence[ReplayCell], mode: Mode) -> Table:
    sizes = sorted({cell.size_label for cell in cells}, key=lambda size: (size_order(size), size))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("")
    for size in sizes:
        table.add_column(escape(size), justify="center", min_width=_WIDTH)
    rows: dict[str, dict[str, ReplayCell]] = {}
    names: dict[str, str] = {}
    for cell in sorted(cells, key=lambda cell: (cell.profile.loss_pct, cell.profile.extra_rtt_ms)):
        rows.setdefault(cell.profile.name, {})[cell.size_label] = cell
        names[cell.profile.name] = label(cell.profile)
    for name, row in rows.items():
        shown = names[name] if list(names.values()).count(names[name]) == 1 else name
        table.add_row(escape(shown), *(_square(row[size].square, mode) if size in row else Text("") for size in sizes))
    return table


def _square(square: Square, mode: Mode) -> Text:
    if square.diff_pct is None:
        return Text("no data", style="dim")
    red, green, blue = colour(square.diff_pct, mode.limit_pct)
    dark = red + green < 200 or green + blue < 200
    style = Style(color="white" if dark else "black", bgcolor=f"rgb({red},{green},{blue})", bold=True)
    number = "" if not square.shown else f"{square.diff_pct:+.1f}%" if square.diff_pct else "0.0%"
    text = Text(f"{number:^{_WIDTH}}", style=style)
    if square.verdict is not None:
        text.append(f"\n{square.verdict:^{_WIDTH}}", style=Style(color=style.color, bgcolor=style.bgcolor))
    return text

"""Heatmaps per provider with the answer in words above and every cell as a table below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.answer import SHOWN, Line, brief, condition_words, lines, rests_on, square, summary
from dashboard.attributes import aria, data
from dashboard.client import Json
from dashboard.figures.grid import AXES, Axis, Panel, all_cells, all_sizes, best_axis, off_grid, panels
from dashboard.figures.heatmap import Look, heatmap_figure
from dashboard.formatting import DASH, NBSP, plural, size_label
from dashboard.links import cell_href
from dashboard.merge import pairs
from dashboard.pages.card import GRAPH_CONFIG, save_buttons
from dashboard.pages.cells_table import cells_table
from dashboard.pages.legend import legend
from dashboard.pages.place import Place
from dashboard.pages.view import Choice, csv_href, value_in, values_in

MODES = (
    ("lastbyte", "lastbyte: paired, with intervals"),
    ("yu2020", "yu2020: best means, t-test"),
    ("yu2021", "yu2021: best medians"),
)


ANSWERS = ("H3 slower", "H3 faster", "No difference established", "Rests on")
NAMED = 2
"""Squares named in the line of a provider, per direction; the table below the heatmaps names more."""
TABLE, SHOWN_TABLE = "table", "cells"
"""Name and value in the query of the table of all cells, when it is open."""
MOST_LISTED = 8
"""More cells outside the grids stay folded."""


def axis_of(place: Place, heatmap: Json) -> Axis:
    """The axis in the query, else the one on which most varies."""
    return AXES.get(place.query.get("axis", "")) or best_axis(heatmap)


def choices(place: Place, heatmap: Json, clients: Sequence[str], axes: Sequence[Axis]) -> list[Choice]:
    """The controls of a page with heatmaps."""
    known = all_sizes(heatmap)
    h2, h3 = ([c for c in clients if f"-{end}" in c and "@" not in c] for end in ("h2", "h3"))
    return [
        Choice("axis", "Rows", [(a.key, a.label) for a in axes], axis_of(place, heatmap).key, segments=True),
        Choice(
            "sizes",
            "Sizes",
            [(size, size_label(size)) for size in known],
            ",".join(values_in(place, "sizes", known)),
            many=True,
        ),
        _client(place, heatmap, "candidate", "H3 client", h3),
        _client(place, heatmap, "baseline", "against", h2),
        Choice(
            "mode",
            "Definition",
            MODES,
            mode_of(place),
            help="How a square's number is made: ours, or as in the two papers of Yu and Benson.",
        ),
    ]


def _client(place: Place, heatmap: Json, side: str, label: str, clients: Sequence[str]) -> Choice:
    """One client for all squares, or that of each campaign where nothing is chosen and they differ."""
    if len(pairs(heatmap)) == 1:
        return Choice(side, label, _named(clients, heatmap[side]), heatmap[side])
    chosen = value_in(place, side, clients, "")
    return Choice(side, label, [("", "each campaign's own"), *((c, c) for c in clients)], chosen)


def mode_of(place: Place) -> str:
    """The mode in the query."""
    return value_in(place, "mode", [mode for mode, _ in MODES], "lastbyte")


def _named(clients: Sequence[str], value: str) -> list[tuple[str, str]]:
    return [(c, c) for c in (clients if value in clients else [value, *clients])]


def section(place: Place, heatmap: Json, axis: Axis, profile: str | None = None) -> list[Any]:
    """Everything below the controls; ``heatmap`` as ``merge`` gives it, ``profile`` is that of a time axis."""
    mode = mode_of(place)
    sizes = values_in(place, "sizes", all_sizes(heatmap))
    if axis.key == "time" and profile is not None:
        heatmap = only_profile(heatmap, profile)
    laid_out = panels(heatmap, axis, sizes)
    shown = [(panel.provider, cell) for panel in laid_out for cell in panel.shown()]
    look = Look(place.scheme, mode, place.zone, lambda cell: cell_href(cell, heatmap))
    rest = off_grid(heatmap) if axis.key != "time" else []
    csv = csv_href(place, "heatmap")
    return [
        answer(shown) if mode == "lastbyte" else mode_note(heatmap),
        compared(heatmap),
        html.Div([_panel(panel, look, csv) for panel in laid_out], className="lb-panels")
        if laid_out
        else no_panels(axis),
        legend(place.scheme, mode, shown),
        in_words(shown) if mode == "lastbyte" and axis.key != "time" else None,
        html.Div(_off_grid(rest, heatmap) if rest else None, id=ids.OFF_GRID),
        _table_on_demand(place, heatmap, csv),
    ]


def _table_on_demand(place: Place, heatmap: Json, csv: str) -> dmc.Accordion:
    """Every cell as a table, made once it is opened: closed, it was nine tenths of what the browser had to build.

    A control like those above, so the address says that it is open.
    """
    opened = place.query.get(TABLE) == SHOWN_TABLE
    return dmc.Accordion(
        id=ids.control(TABLE),
        value=SHOWN_TABLE if opened else None,
        className="lb-table-of-all",
        chevronPosition="left",
        children=dmc.AccordionItem(
            [
                dmc.AccordionControl("All cells as a table"),
                dmc.AccordionPanel(
                    [
                        html.A("Download CSV", href=csv, className="lb-button", download=""),
                        html.Div(
                            cells_table(all_cells(heatmap), heatmap) if opened else "Loading …",
                            id=ids.slot("all cells"),
                        ),
                    ]
                ),
            ],
            value=SHOWN_TABLE,
        ),
    )


def only_profile(heatmap: Json, profile: str) -> Json:
    """The heatmap with the cells of one profile."""
    return {
        **heatmap,
        "providers": [{**p, "cells": [c for c in p["cells"] if c["profile"] == profile]} for p in heatmap["providers"]],
    }


def answer(cells: Sequence[tuple[str, Json]]) -> html.Div:
    """The answer before the pictures: one sentence for all, then a line for each provider."""
    only = [cell for _, cell in cells]
    rests = rests_on(only)
    return html.Div(
        [
            html.P(html.Strong(summary(only)), className="lb-summary", role="status"),
            html.Ul([_provider_line(line) for line in lines(cells) if line.judged], className="lb-provider-lines")
            if rests
            else None,
            html.P(f"{rests} In brackets: the 95{NBSP}% interval.", className="lb-muted") if rests else None,
        ],
        className="lb-answer",
    )


def compared(heatmap: Json) -> html.P | None:
    """Which clients the squares compare, where not all compare the same."""
    found = pairs(heatmap)
    if len(found) == 1:
        return None
    each = "; ".join(f"{candidate} against {baseline}" for baseline, candidate in found)
    return html.P(
        f"Not all squares compare the same clients: {each}. Point at a square for its own.",
        className="lb-muted lb-compared",
    )


def _provider_line(line: Line) -> html.Li:
    """Where H3 is slower and faster for a provider, by how much, how sure that is, and on how many trials it rests."""
    return html.Li(
        [
            html.Strong(line.provider),
            ": ",
            *_named_squares("slower", "lb-word-h2", line.slower),
            *_named_squares("faster", "lb-word-h3", line.faster),
            f"No difference established in {line.unclear} of {plural(line.judged, 'square')}. "
            if line.unclear
            else None,
            html.Span(plural(line.trials, "trial") + ".", className="lb-muted"),
        ]
    )


def _named_squares(word: str, look: str, cells: Sequence[Json]) -> list[Any]:
    if not cells:
        return [f"H3 {word} nowhere. "]
    more = f"; and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
    return [html.Span(f"H3 {word}", className=look), f" at {'; '.join(brief(c) for c in cells[:NAMED])}{more}. "]


def in_words(cells: Sequence[tuple[str, Json]]) -> html.Div | None:
    """The same as a table: for each provider where H3 is slower and where faster, largest difference first."""
    found = [line for line in lines(cells) if line.slower or line.faster or line.unclear]
    if not found:
        return None
    heads = ("Provider", *ANSWERS)
    return html.Div(
        html.Table(
            [
                html.Thead(html.Tr([html.Th(head, scope="col") for head in heads])),
                html.Tbody([_answer_row(line) for line in found]),
            ],
            className="lb-table lb-table-dense lb-answers",
        ),
        className="lb-scroll",
        tabIndex="0",
        role="region",
        **aria(label="The answer in words"),
    )


def _answer_row(line: Line) -> html.Tr:
    return html.Tr(
        [
            html.Th(line.provider, scope="row"),
            html.Td(_squares(line.slower), **data(label=ANSWERS[0])),
            html.Td(_squares(line.faster), **data(label=ANSWERS[1])),
            html.Td(plural(line.unclear, "square") if line.unclear else DASH, **data(label=ANSWERS[2])),
            html.Td(plural(line.trials, "trial"), **data(label=ANSWERS[3])),
        ]
    )


def _squares(cells: Sequence[Json]) -> Any:
    if not cells:
        return "nowhere"
    more = [html.Li(f"and {len(cells) - SHOWN} more", className="lb-muted")] if len(cells) > SHOWN else []
    return html.Ul([*(html.Li(square(cell)) for cell in cells[:SHOWN]), *more])


def mode_note(heatmap: Json) -> html.P:
    """What must stand beside the squares of a paper mode."""
    return html.P(
        [html.Strong("As in the paper. "), heatmap.get("mode_note") or ""], className="lb-warning", role="note"
    )


def _panel(panel: Panel, look: Look, csv: str) -> html.Section:
    title = f"Heatmap of {panel.provider}"
    return html.Section(
        [
            html.Div(
                dcc.Graph(
                    id=ids.panel_figure(panel.key),
                    figure=heatmap_figure(panel, look),
                    config=cast("Any", {**GRAPH_CONFIG, "doubleClick": False}),
                    clear_on_unhover=True,
                    responsive=False,
                ),
                role="img",
                **aria(label=f"{title}. {spoken(panel)}"),
            ),
            html.Div(save_buttons(panel.provider, title, csv), className="lb-save"),
        ],
        className="lb-panel lb-card",
        **data(figure=panel.provider),
    )


def spoken(panel: Panel) -> str:
    """A heatmap for who can't see it: where H3 is slower and faster."""
    found = lines([(panel.provider, cell) for cell in panel.shown()])
    said = [
        f"H3 {word} by {abs(cell['diff_pct']):.0f} percent at {condition_words(cell)}, {size_label(cell['size_label'])}"
        for line in found
        for cells, word in ((line.slower, "slower"), (line.faster, "faster"))
        for cell in cells
        if cell["diff_pct"] is not None
    ]
    return "; ".join(said).replace(NBSP, " ") or "No difference is established."


def no_panels(axis: Axis) -> html.Div:
    """When nothing varies on this axis alone."""
    return html.Div(
        f"No cell here varies {axis.title.lower()} alone. Choose other rows above; all cells are in the table below.",
        className="lb-state",
        role="status",
    )


def _off_grid(rest: list[tuple[str, Json]], heatmap: Json) -> html.Details:
    return html.Details(
        [
            html.Summary(f"Conditions outside the grids: {plural(len(rest), 'cell')}"),
            html.P("With loss and delay together, or at another rate than most.", className="lb-muted lb-under"),
            cells_table(rest, heatmap),
        ],
        className="lb-details",
        open=len(rest) <= MOST_LISTED,
    )

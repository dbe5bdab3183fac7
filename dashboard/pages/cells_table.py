"""Cells as a table: for conditions that no grid shows, and for reading or tabbing through all of them."""

from __future__ import annotations

from collections.abc import Sequence

from dash import dcc, html

from dashboard.attributes import aria
from dashboard.client import Json
from dashboard.figures.cell_text import (
    TITLES,
    cautions,
    condition,
    difference,
    failures_by_kind,
    interval_of,
    p_text,
)
from dashboard.formatting import DASH, ms, size_label
from dashboard.links import cell_href
from dashboard.words import explanation, kind_of

HEADS = (
    "Provider", "Size", "Profile", "Difference", "95 % interval (%)", "n", "q", "H2 median", "H3 median", "Failed",
    "Verdict", "Cautions", "",
)  # fmt: skip


def cells_table(cells: Sequence[tuple[str, Json]], heatmap: Json) -> html.Div:
    """One row per cell, each with a link to its page."""
    return html.Div(
        html.Table(
            [
                html.Thead(html.Tr([html.Th(head, scope="col") for head in HEADS[:-1]] + [html.Td("")])),
                html.Tbody([_row(provider, cell, heatmap) for provider, cell in cells]),
            ],
            className="lb-table lb-table-dense",
        ),
        className="lb-scroll",
        tabIndex="0",
        role="region",
        **aria(label="Cells"),
    )


def _row(provider: str, cell: Json, heatmap: Json) -> html.Tr:
    kind = kind_of(cell)
    failed = ", ".join(
        f"{name}: {failures_by_kind(cell[arm])}"
        for name, arm in (("H2", "baseline"), ("H3", "candidate"))
        if cell[arm]["failures"]
    )
    q = cell.get("q_value")
    return html.Tr(
        [
            html.Td(provider),
            html.Td(size_label(cell["size_label"])),
            html.Td(cell["profile"], title=condition(cell)),
            html.Td(difference(cell), className="lb-num lb-strong"),
            html.Td(interval_of(cell) or DASH, className="lb-num"),
            html.Td(cell["n"], className="lb-num"),
            html.Td(p_text(q).removeprefix("=").strip() if q is not None else DASH, className="lb-num"),
            html.Td(ms(cell["baseline"]["median_ttlb_ms"]), className="lb-num"),
            html.Td(ms(cell["candidate"]["median_ttlb_ms"]), className="lb-num"),
            html.Td(failed or DASH),
            html.Td(TITLES[kind], title=explanation(cell, kind)),
            html.Td("; ".join(cautions(cell)) or DASH, className="lb-wrap"),
            html.Td(
                dcc.Link(
                    "Open",
                    href=cell_href(cell, heatmap),
                    title=f"Trials of {cell['endpoint']}, {cell['profile']}",
                )
            ),
        ]
    )

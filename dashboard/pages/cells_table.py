"""Cells as a table: for conditions that no grid shows, and for reading or tabbing through all of them."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html

from dashboard import ids
from dashboard.attributes import aria
from dashboard.client import Json
from dashboard.figures.cell_text import TITLES, condition, failures_by_kind, interval_of
from dashboard.formatting import DASH, ms, signed_pct, size_label
from dashboard.words import explanation, kind_of

HEADS = (
    "Provider", "Size", "Profile", "Difference", "95 % interval (%)", "n", "H2 median", "H3 median", "Failed",
    "Verdict", "",
)  # fmt: skip


def cells_table(cells: Sequence[tuple[str, Json]], where: str) -> html.Div:
    """One row per cell, each with a button that opens its trials."""
    return html.Div(
        html.Table(
            [
                html.Thead(html.Tr([html.Th(head, scope="col") for head in HEADS])),
                html.Tbody([_row(provider, cell, where) for provider, cell in cells]),
            ],
            className="lb-table lb-table-dense",
        ),
        className="lb-scroll",
        tabIndex="0",
    )


def _row(provider: str, cell: Json, where: str) -> html.Tr:
    kind = kind_of(cell)
    failed = ", ".join(
        f"{name}: {failures_by_kind(cell[arm])}"
        for name, arm in (("H2", "baseline"), ("H3", "candidate"))
        if cell[arm]["failures"]
    )
    return html.Tr(
        [
            html.Td(provider),
            html.Td(size_label(cell["size_label"])),
            html.Td(cell["profile"], title=condition(cell)),
            html.Td(
                signed_pct(cell["diff_pct"]) if cell["diff_pct"] is not None else DASH, className="lb-num lb-strong"
            ),
            html.Td(interval_of(cell) or DASH, className="lb-num"),
            html.Td(cell["n"], className="lb-num"),
            html.Td(ms(cell["baseline"]["median_ttlb_ms"]), className="lb-num"),
            html.Td(ms(cell["candidate"]["median_ttlb_ms"]), className="lb-num"),
            html.Td(failed or DASH),
            html.Td(TITLES[kind], title=explanation(cell, kind)),
            html.Td(
                html.Button(
                    "Trials",
                    id=ids.open_cell(where, cell["endpoint"], cell["profile"]),
                    className="lb-button lb-button-quiet",
                    type="button",
                    **aria(label=f"Trials of {cell['endpoint']}, {cell['profile']}"),
                )
            ),
        ]
    )

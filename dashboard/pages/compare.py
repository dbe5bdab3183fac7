"""Two campaigns side by side: has anything become slower?"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from dash import dcc, html

from dashboard.client import ApiClient, ApiProblem, Json
from dashboard.figures.cell_text import p_text
from dashboard.figures.compare import compare_figure, figure_height, ordered
from dashboard.formatting import DASH, interval, ms, plural, signed_pct, when
from dashboard.links import campaign_path
from dashboard.pages.card import figure_card
from dashboard.pages.cell_parts import table
from dashboard.pages.place import Place
from dashboard.pages.shell import state_box, why
from dashboard.pages.view import Choice, Drawn, csv_href, value_in

READ = (
    "After against before; right of zero it became slower. Shaded: within the tolerance. Cross: fails. Hollow: "
    "inconclusive. Filled: passes."
)
TOLERANCES = ("0", "2", "5", "10", "20")
VERDICTS = {
    "pass": "Pass: nothing became slower by more than the tolerance.",
    "fail": "Fail: something became slower, or fails more often.",
    "inconclusive": "Inconclusive: nothing fails for certain, but not everything passes. More rounds may tell.",
}
HEADS = (
    "Endpoint",
    "Profile",
    "Client",
    "Verdict",
    "Difference",
    "95 % interval (%)",
    "Before",
    "After",
    "p slower",
    "Why",
)
UNPROCESSABLE = 422
"""Nothing in common."""


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    head = html.Div(
        [
            html.H1("Compare two campaigns"),
            html.P(
                "Each client of each cell, before and after. The same verdicts as lastbyte compare gives CI.",
                className="lb-meta",
            ),
        ]
    )
    measured = [c for c in api.campaigns()["items"] if c["trials_done"]]
    if len(measured) < 2:
        return Drawn("few", head, _too_few, live=True)
    names = [(c["id"], f"{c['name']} ({when(c['created_at'], place.zone)})") for c in measured]
    known = [ident for ident, _ in names]
    candidate = value_in(place, "candidate", known, known[0])
    baseline = value_in(place, "baseline", known, like(measured, candidate))
    tolerance = value_in(place, "tolerance", TOLERANCES, "5")
    found: Json = {}
    refused = ""
    try:
        found = api.compare(baseline, candidate, float(tolerance))
    except ApiProblem as exc:
        if exc.status != UNPROCESSABLE:
            raise
        refused = (
            why(exc).replace("candidate", "“After”").replace("baseline", "“Before”")
        )  # the viewer chooses another pair
    return Drawn(
        seen=json.dumps(
            [[c["trials_done"] for c in measured if c["id"] in (baseline, candidate)], place.query, place.scheme]
        ),
        head=head,
        controls=lambda: [
            Choice("baseline", "Before", names, baseline),
            Choice("candidate", "After", names, candidate),
            Choice("tolerance", "Slower passes up to", [(t, f"{t} %") for t in TOLERANCES], tolerance),
        ],
        body=lambda: body(found, place) if found else state_box("These two campaigns can't be compared", refused),
        files={"compare": lambda: compare_csv(found)} if found else {},
    )


def like(campaigns: list[Json], candidate: str) -> str:
    """The newest campaign before the candidate that shares most cells with it, of its vantage if there is one."""
    at = next(i for i, c in enumerate(campaigns) if c["id"] == candidate)
    others = campaigns[at + 1 :] or campaigns[:at]

    def cells(campaign: Json) -> set[tuple[str, str]]:
        return {(e, p) for e in campaign["endpoints"] for p in campaign["profiles"]}

    mine = cells(campaigns[at])
    here = [c for c in others if c["vantage"] == campaigns[at]["vantage"] and cells(c) & mine]
    return str(max(here or others, key=lambda c: len(cells(c) & mine))["id"])


def body(found: Json, place: Place) -> list[Any]:
    """The verdict, the picture, every item."""
    items = found["items"]
    if not items:
        return [
            state_box("Nothing in common", "These campaigns share no client in the same cell. Choose another pair.")
        ]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found["counts"].items() if count)
    return [
        html.Div(
            [
                html.P(
                    [html.Strong(VERDICTS[found["verdict"]]), f" {plural(len(items), 'item')}: {counts}."],
                    className="lb-summary",
                ),
                html.P(
                    [
                        dcc.Link(found["baseline"]["name"], href=campaign_path(found["baseline"]["id"])),
                        " → ",
                        dcc.Link(found["candidate"]["name"], href=campaign_path(found["candidate"]["id"])),
                        f". {found['note']}",
                    ],
                    className="lb-muted",
                ),
            ],
            className=f"lb-card lb-verdict-{found['verdict']}",
            role="status",
        ),
        state_box(
            "No difference can be drawn",
            "No item has enough trials over a proven link on both sides. The table says why for each.",
        )
        if all(item["diff_pct"] is None for item in items)
        else html.Div(
            figure_card(
                "compare",
                "Worst first",
                compare_figure(items, found["tolerance_pct"], place.scheme),
                note=READ,
                says=f"{VERDICTS[found['verdict']]} {counts}",
                csv=csv_href(place, "compare"),
                height_px=figure_height(items),
            ),
            className="lb-deck lb-deck-wide",
        ),
        html.Details(
            [html.Summary(f"All {plural(len(items), 'item')}"), table(HEADS, [_row(item) for item in ordered(items)])],
            className="lb-details",
            open=len(items) <= 24,
        ),
    ]


def _row(item: Json) -> html.Tr:
    known = item["ci_low_pct"] is not None and item["ci_high_pct"] is not None
    return html.Tr(
        [
            html.Td(item["endpoint"]),
            html.Td(item["profile"]),
            html.Td(item["client"]),
            html.Td(item["verdict"], className=f"lb-word-{item['verdict']}"),
            html.Td(
                signed_pct(item["diff_pct"]) if item["diff_pct"] is not None else DASH, className="lb-num lb-strong"
            ),
            html.Td(interval(item["ci_low_pct"], item["ci_high_pct"]) if known else DASH, className="lb-num"),
            *(
                html.Td(f"{ms(item[side]['median_ttlb_ms'])}, n = {item[side]['n']}", className="lb-num")
                for side in ("baseline", "candidate")
            ),
            html.Td(p_text(item["p_slower"]) if item["p_slower"] is not None else DASH, className="lb-num"),
            html.Td(item["reason"], className="lb-wrap"),
        ]
    )


def compare_csv(found: Json) -> str:
    """One line per item."""
    keys = (
        "endpoint",
        "profile",
        "client",
        "verdict",
        "diff_pct",
        "ci_low_pct",
        "ci_high_pct",
        "p_slower",
        "p_failures",
        "reason",
    )
    parts = ("n", "failures", "timed_out", "median_ttlb_ms")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*keys, *(f"{side}_{part}" for side in ("baseline", "candidate") for part in parts)])
    for item in found["items"]:
        writer.writerow([*(item[k] for k in keys), *(item[s][p] for s in ("baseline", "candidate") for p in parts)])
    return out.getvalue()


def _too_few() -> html.Div:
    return state_box(
        "Two campaigns are needed",
        "Run a campaign again, then compare before and after.",
        dcc.Link("Campaigns", href="/campaigns", className="lb-button lb-button-primary"),
    )

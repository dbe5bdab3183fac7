"""Where H3 and H2 take the same time, through loss, delay, rate and size, and what is too uncertain to say."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from typing import Any

from dash import dcc, html

from dashboard.client import ApiClient, Json
from dashboard.figures.crossover import crossover_figure, figure_height, said
from dashboard.pages.card import figure_card
from dashboard.pages.home import chosen_campaigns
from dashboard.pages.place import Place
from dashboard.pages.shell import state_box
from dashboard.pages.view import Choice, Drawn, csv_href, value_in, values_in

AXES = (("loss", "Loss"), ("delay", "Delay"), ("rate", "Rate"), ("size", "Size"))


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    head = html.Div(
        [
            html.H1("Crossover"),
            html.P(
                "Where HTTP/3 stops being faster and HTTP/2 begins, along one condition at a time.", className="lb-meta"
            ),
        ]
    )
    measured = [c for c in api.campaigns()["items"] if c["trials_done"]]
    if not measured:
        return Drawn("empty", head, _nothing, live=True)
    axis = value_in(place, "axis", [key for key, _ in AXES], "loss")
    chosen = chosen_campaigns(Place(place.pathname, {**place.query, "axis": ""}, place.zone, place.scheme), measured)
    found = cache(lambda: api.crossover([c["id"] for c in chosen], axis))
    return Drawn(
        seen=json.dumps([[[c["id"], c["cells_done"]] for c in chosen], place.query, place.scheme]),
        head=head,
        controls=lambda: [
            Choice("axis", "Along", AXES, axis, segments=True),
            Choice(
                "campaigns",
                "Campaigns",
                [(c["id"], c["name"]) for c in measured],
                ",".join(values_in(place, "campaigns", [c["id"] for c in measured])),
                many=True,
                none="newest",
            ),
        ],
        body=lambda: body(found(), axis, place),
        live=True,
        files={"crossover": lambda: crossover_csv(found())},
    )


def body(found: Json, axis: str, place: Place) -> list[Any]:
    """A figure per provider, and each line in words."""
    if not found["lines"]:
        return [
            state_box(
                "Nothing varies along this axis",
                "A crossover needs two conditions that differ in this one thing. Choose another axis or campaign.",
            )
        ]
    by_provider: dict[str, list[Json]] = {}
    several = len({line["vantage"] for line in found["lines"]}) > 1
    for line in found["lines"]:
        where = f", vantage {line['vantage']}" if several else ""
        by_provider.setdefault(f"{line['provider']}, base RTT {line['base_rtt_ms']:g} ms{where}", []).append(line)
    arms = f"{found['candidate']} against {found['baseline']}"
    compared = f"{arms}. Ticks: what was measured. Diamond: where they cross, with its 95 % interval."
    cards = [
        html.Div(
            [
                figure_card(
                    f"crossover {provider}",
                    provider,
                    crossover_figure(lines, axis, place.scheme),
                    note=compared,
                    says=". ".join(said(line, axis) for line in lines),
                    csv=csv_href(place, "crossover"),
                    height_px=figure_height(lines),
                ),
                html.Ul([_line(line, axis) for line in lines], className="lb-lines"),
            ]
        )
        for provider, lines in by_provider.items()
    ]
    return [html.Div(cards, className="lb-deck")]


def _line(line: Json, axis: str) -> html.Li:
    known = line["kind"] in ("found", "h3 faster throughout", "h2 faster throughout")
    agreement = f" Agreement of the bootstrap: {100 * line['agreement']:.0f} %." if line["kind"] != "too few" else ""
    return html.Li([html.Span(f"{said(line, axis)}."), html.Span(agreement)], className=None if known else "lb-muted")


def crossover_csv(found: Json) -> str:
    """One line per line of cells."""
    keys = (
        "provider", "vantage", "base_rtt_ms", "loss_pct", "delay_ms", "rate_mbit_s", "size_label", "kind", "x",
        "ci_low", "ci_high", "h3_faster_below", "agreement", "places",
    )  # fmt: skip
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["axis", "unit", *keys])
    writer.writerows([found["axis"], found["unit"], *(line[k] for k in keys)] for line in found["lines"])
    return out.getvalue()


def _nothing() -> html.Div:
    return state_box(
        "Nothing measured yet",
        "A crossover needs a campaign with several losses, delays, rates or sizes.",
        dcc.Link("New campaign", href="/new", className="lb-button lb-button-primary"),
    )
